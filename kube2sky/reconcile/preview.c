#include "kube2sky/reconcile/preview.h"

static void append_text(struct buf *out, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < ' ' || c >= 0x7f || c == '\\') {
            buf_printf(out, "\\x%02x", c);
        } else {
            buf_append_char(out, (char)c);
        }
    }
}

static void append_line(struct buf *out, char sign, const struct etcd_op *op)
{
    buf_printf(out, "%c ", sign);
    append_text(out, op->key);
    if (op->kind == ETCD_OP_PUT) {
        buf_append_char(out, ' ');
        append_text(out, op->value);
    }
    buf_append_char(out, '\n');
}

void preview_append(const struct plan *plan, struct buf *out)
{
    for (size_t i = 0; i < plan->op_count; i++) {
        struct etcd_op op = plan_get(plan, i);
        bool is_there = plan->ops[i].revision != 0;
        append_line(out, op.kind == ETCD_OP_DELETE ? '-' : is_there ? '~' : '+', &op);
    }
}

void preview_append_withheld(const struct plan *withheld, struct buf *out)
{
    for (size_t i = 0; i < withheld->op_count; i++) {
        struct etcd_op op = plan_get(withheld, i);
        append_line(out, '?', &op);
    }
}

void preview_append_left(const struct plan *left, struct buf *out)
{
    for (size_t i = 0; i < left->op_count; i++) {
        struct etcd_op op = plan_get(left, i);
        append_line(out, '=', &op);
    }
}

#include "tests/support/skydns/behind_alias.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/skydns/dns_text.h"

static const char *behind_alias_next_line(const char *text)
{
    const char *end = strchr(text, '\n');
    return end ? end + 1 : text + strlen(text);
}

uint32_t behind_alias_check(struct slice plain, struct slice aliased)
{
    static char before[DNS_TEXT_MAX], after[DNS_TEXT_MAX];
    static const char malformed[] = "malformed: ";
    static const char question[] = "? w.team.svc.test. ", cname[] = "= w.team.svc.test. ";
    dns_text((const uint8_t *)plain.ptr, plain.len, before, sizeof(before));
    dns_text((const uint8_t *)aliased.ptr, aliased.len, after, sizeof(after));
    if (strncmp(before, malformed, strlen(malformed)) == 0) {
        assert(strncmp(after, malformed, strlen(malformed)) == 0);
        return 0;
    }
    const char *own = behind_alias_next_line(before), *other = behind_alias_next_line(after), *end;
    assert(strncmp(before, after, (size_t)(own - before)) == 0);
    assert(strncmp(own, "? ", 2) == 0 && strncmp(other, question, strlen(question)) == 0);
    const char *name = own + 2;
    const size_t name_len = strcspn(name, " ");
    assert(strcspn(name + name_len, "\n") == strcspn(other + strlen(question) - 1, "\n"));
    own = behind_alias_next_line(own);
    other = behind_alias_next_line(other);
    assert(strncmp(other, cname, strlen(cname)) == 0);
    char *digits_end;
    const unsigned long ttl_s = strtoul(other + strlen(cname), &digits_end, 10);
    end = digits_end + strlen(" CNAME ");
    assert(strncmp(digits_end, " CNAME ", strlen(" CNAME ")) == 0);
    assert(strncmp(end, name, name_len) == 0 && strcspn(end, "\n") == name_len);
    assert(strcmp(own, behind_alias_next_line(other)) == 0);
    return (uint32_t)ttl_s;
}

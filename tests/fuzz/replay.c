/* main() of a fuzz target outside libFuzzer: runs it over the given files and folders, so that the
 * corpus is an ordinary test in every build variant. Prints `N inputs` at the end; zero inputs is a
 * failure. */
#include <dirent.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz_target.h"
static unsigned inputs;

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) != 0) {
        perror(path);
        return 1;
    }
    /* A heap block of exactly the input's size, so that asan catches a read one byte past it. */
    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size ? size : 1);
    if (!data || fread(data, 1, size, f) != size) {
        perror(path);
        return 1;
    }
    (void)fclose(f); /* read side only */
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    inputs++;
    return 0;
}

static int run_dir(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int failed = dir ? 0 : 1;
    if (!dir) {
        perror(path);
        return 1;
    }
    while (!failed && (entry = readdir(dir))) {
        char file[4096];
        if (entry->d_name[0] != '.') {
            int n = snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
            failed = n < 0 || (size_t)n >= sizeof(file) || run_file(file);
        }
    }
    (void)closedir(dir); /* read side only */
    return failed;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) != 0) {
            perror(argv[i]);
            return 1;
        }
        if (S_ISDIR(st.st_mode) ? run_dir(argv[i]) : run_file(argv[i])) {
            return 1;
        }
    }
    printf("%u inputs\n", inputs);
    return inputs == 0;
}

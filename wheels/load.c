/* Opens a library and calls one function of it, where there is no Python for its platform. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*level)(void) = library ? (int (*)(void))dlsym(library, "instruction_level") : NULL;
    if (!level) return fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "give the path of a library"), 1;
    return printf("instruction level %d\n", level()) < 0;
}

/* What every source of the library begins with. */
#ifndef EXPORTED_H
#define EXPORTED_H
#include <stdint.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#endif

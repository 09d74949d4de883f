/* The elements of a JSON array, found without parsing them. `json_array.py` declares this for ctypes. */
#include "exported.h"
#include <stdbool.h>
#include <string.h>

/* Bytes of UTF-8 that begin no character. */
static int64_t n_continued(const uint8_t *from, const uint8_t *to) {
    int64_t n = 0;
    for (int64_t k = 0; k < to - from; k++) n += (from[k] & 0xc0) == 0x80;
    return n;
}

/* The place behind a string whose opening quote is `at`. */
static const uint8_t *behind_string(const uint8_t *at, const uint8_t *end) {
    for (const uint8_t *quote = at; (quote = memchr(quote + 1, '"', (size_t)(end - quote - 1))) != NULL;) {
        const uint8_t *before = quote;
        while (before[-1] == '\\') before--;
        if ((quote - before) % 2 == 0) return quote + 1;
    }
    return end;
}

/* Where the elements of an array begin, in characters from its bracket on.
 *
 * bytes (n,): UTF-8 that begins with the bracket; the array is known to be sound JSON.
 * starts (most,)
 *
 * Returns the number of elements, `most` of which were written at most. */
EXPORT int64_t element_starts(const uint8_t *bytes, int64_t n, int64_t most, int64_t *starts) {
    const uint8_t *at = bytes + 1, *end = bytes + n;
    int64_t n_elements = 0, n_extra = 0, depth = 0;
    bool is_before = true; /* an element of the array itself */
    while (at < end) {
        const uint8_t sign = *at;
        if (sign == ',') is_before |= depth == 0;
        else if (sign == ']' || sign == '}') {
            if (depth-- == 0) break;
        } else if (sign != ' ' && sign != '\n' && sign != '\r' && sign != '\t') {
            if (is_before && n_elements < most) starts[n_elements] = at - bytes - n_extra;
            n_elements += is_before;
            is_before = false;
            depth += sign == '[' || sign == '{';
            if (sign == '"') {
                const uint8_t *behind = behind_string(at, end);
                n_extra += n_continued(at, behind);
                at = behind;
                continue;
            }
        }
        at++;
    }
    return n_elements;
}

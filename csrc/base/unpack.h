/* unpack.h: bytes that csrc/pack.lua made smaller, as they were. Called by bind_core.c. */
#ifndef SKILLRT_BASE_UNPACK_H
#define SKILLRT_BASE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

/* Writes exactly `size` bytes to `to`; false when the packed bytes do not give just as many. */
bool unpack_bytes(const char *packed, size_t packed_size, char *to, size_t size);

#endif

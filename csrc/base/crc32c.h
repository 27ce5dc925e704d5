/* crc32c.h: the Castagnoli checksum of journal records.
 *
 * Uses the processor's instruction where it has one, tables otherwise; both give the same. */
#ifndef SKILLRT_BASE_CRC32C_H
#define SKILLRT_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of what came `before` followed by these bytes; 0 begins:
 * crc32c(crc32c(0, a), b) == crc32c(0, ab). crc32c(0, "123456789", 9) == 0xe3069283. */
uint32_t crc32c(uint32_t before, const void *from, size_t size);

/* The same without the instruction (for tests and other processors). */
uint32_t crc32c_portable(uint32_t before, const void *from, size_t size);

#endif

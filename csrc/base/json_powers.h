/* json_powers.h: powers of ten for json_number.c; see json_powers.c. */
#ifndef SKILLRT_BASE_JSON_POWERS_H
#define SKILLRT_BASE_JSON_POWERS_H

#include <stdint.h>

enum { JSON_POWER_FIRST = -292, JSON_POWER_LAST = 324 };

extern const uint64_t json_powers[JSON_POWER_LAST - JSON_POWER_FIRST + 1][2];

#endif

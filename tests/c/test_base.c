/* test_base.c: errors, growing buffers, checksums and digests. */
#include "support/check.h"
#include "support/fake_sys.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/sha256.h"
#include "base/sha256_blocks.h"

static void test_errors(void) {
  struct error e;
  TEST("an error carries its code, its text and false") {
    CHECK(!error_set(&e, ERROR_INVALID, "a.json: line %d", 3));
    CHECK(e.code == ERROR_INVALID && e.number == 0);
    CHECK_STR(e.text, "a.json: line 3");
    CHECK(!error_set(NULL, ERROR_INVALID, "nobody listens"));
    error_clear(&e);
    CHECK(e.code == ERROR_NONE && e.text[0] == '\0');
  }
  TEST("a failed call names its object and the system's reason") {
    CHECK(!error_system(&e, ENOSPC, "runs/%d/state.json", 7));
    CHECK(e.code == ERROR_SYSTEM && e.number == ENOSPC);
    CHECK_STR(e.text, "runs/7/state.json: No space left on device");
    error_system(&e, -EACCES, "x");
    CHECK(e.number == EACCES);
    error_system(&e, ENOMEM, "x");
    CHECK(e.code == ERROR_MEMORY && e.number == 0);
  }
  TEST("a long message is cut between characters and keeps the reason") {
    char name[700];
    for (size_t i = 0; i + 1 < sizeof name; i += 2)
      memcpy(name + i, "\xC3\xA9", 2); /* two bytes a character */
    name[sizeof name - 1] = '\0';
    for (int shift = 0; shift < 2; shift++) {
      error_set(&e, ERROR_INVALID, "%.*s%s", shift, "x", name);
      size_t length = strlen(e.text);
      CHECK(length < sizeof e.text && length > sizeof e.text - 6);
      CHECK_STR(e.text + length - 3, "...");
      CHECK((e.text[length - 4] & 0xFF) == 0xA9);
      error_system(&e, ENOENT, "%.*s%s", shift, "x", name);
      CHECK(strstr(e.text, "\xC3\xA9...: No such file or directory") != NULL);
    }
  }
  TEST("every error code has a name of its own") {
    for (int a = ERROR_NONE; a <= ERROR_STORE; a++)
      for (int b = ERROR_NONE; b < a; b++)
        CHECK(strcmp(error_name((enum error_code)a), error_name((enum error_code)b)) != 0);
    CHECK_STR(error_name(ERROR_INVALID), "invalid");
    CHECK_STR(error_name((enum error_code)99), "unknown");
  }
}

static void test_buffers(void) {
  struct error e;
  struct buffer b;
  TEST("a buffer grows, keeps NUL bytes and stays terminated") {
    buffer_init(&b, sys_real(), 100000);
    CHECK(buffer_span(&b).length == 0 && buffer_span(&b).data != NULL);
    for (int i = 0; i < 1000; i++)
      CHECK(buffer_append(&b, "ab\0c", 4, &e));
    CHECK(buffer_string(&b, "end", &e) && buffer_byte(&b, '.', &e));
    CHECK(buffer_format(&b, &e, "%d-%s", 42, "x"));
    CHECK(b.length == 4008 && memcmp(b.data + 3996, "ab\0cend.42-x", 13) == 0);
    buffer_drop(&b, 4000);
    CHECK_STR(b.data, "end.42-x");
    buffer_reset(&b);
    CHECK(b.length == 0 && b.data && b.data[0] == '\0');
    buffer_clear(&b);
    CHECK(b.data == NULL && buffer_string(&b, "again", &e));
    buffer_clear(&b);
    buffer_clear(&b);
  }
  TEST("a buffer at its maximum refuses and stays as it was") {
    buffer_init(&b, sys_real(), 5);
    CHECK(buffer_string(&b, "12345", &e));
    CHECK(!buffer_byte(&b, '6', &e) && e.code == ERROR_LIMIT);
    CHECK(!buffer_append(&b, "", SIZE_MAX, &e) && e.code == ERROR_LIMIT);
    CHECK_STR(b.data, "12345");
    buffer_clear(&b);
    buffer_init(&b, sys_real(), SIZE_MAX);
    CHECK(buffer_string(&b, "no limit", &e) && b.capacity == 64);
    CHECK(!buffer_append(&b, "", SIZE_MAX, &e) && e.code == ERROR_LIMIT);
    buffer_clear(&b);
  }
  TEST("a buffer without memory says so, stays as it was and leaks nothing") {
    for (long n = 0; n < 8; n++) {
      struct fake_sys poor; /* so many allocations, then none */
      fake_sys_init(&poor);
      poor.fail_at = (size_t)n + 1;
      poor.fail_count = SIZE_MAX;
      buffer_init(&b, &poor.sys, 1 << 20);
      size_t good = 0;
      while (good < 100 && buffer_append(&b, "0123456789abcdef", 16, &e))
        good++;
      CHECK(b.length == good * 16 && (good == 100 || e.code == ERROR_MEMORY));
      CHECK(poor.live == b.capacity);
      buffer_clear(&b);
      CHECK(poor.live == 0);
    }
  }
}

static void test_crc(void) {
  TEST("CRC-32C gives the published values by instruction and by table") {
    unsigned char zeros[32] = {0}, ones[32], up[32], down[32];
    memset(ones, 0xFF, 32);
    for (int i = 0; i < 32; i++)
      up[i] = (unsigned char)i, down[i] = (unsigned char)(31 - i);
    uint32_t (*way[2])(uint32_t, const void *, size_t) = {crc32c, crc32c_portable};
    for (int i = 0; i < 2; i++) {
      CHECK(way[i](0, "", 0) == 0);
      CHECK(way[i](0, "123456789", 9) == 0xE3069283u);
      CHECK(way[i](0, "a", 1) == 0xC1D04330u);
      CHECK(way[i](0, zeros, 32) == 0x8A9136AAu); /* the four of RFC 3720 */
      CHECK(way[i](0, ones, 32) == 0x62A8AB43u);
      CHECK(way[i](0, up, 32) == 0x46DD794Eu);
      CHECK(way[i](0, down, 32) == 0x113FDB5Cu);
    }
  }
  TEST("CRC-32C in pieces equals the whole, whatever the cut and alignment") {
    unsigned char bytes[300];
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof bytes; i++)
      bytes[i] = (unsigned char)((seed = seed * 1103515245u + 12345u) >> 16);
    for (size_t from = 0; from < 9; from++)
      for (size_t cut = from; cut <= sizeof bytes; cut += 7) {
        uint32_t whole = crc32c_portable(0, bytes + from, sizeof bytes - from);
        uint32_t first = crc32c(0, bytes + from, cut - from);
        CHECK(crc32c(first, bytes + cut, sizeof bytes - cut) == whole);
        CHECK(crc32c_portable(first, bytes + cut, sizeof bytes - cut) == whole);
      }
  }
}

static void test_sha(void) {
  char hex[65];
  TEST("SHA-256 gives the values NIST publishes") {
    sha256_hex("", 0, hex);
    CHECK_STR(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256_hex("abc", 3, hex);
    CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
    CHECK_STR(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  }
  TEST("SHA-256 is the same in plain C and by the processor's instructions") {
    unsigned char bytes[5 * 64 + 3];
    for (size_t i = 0; i < sizeof bytes; i++)
      bytes[i] = (unsigned char)(i * i * 31 + i * 7);
    for (size_t count = 0; count <= 5 && sha256_has_instruction(); count++)
      for (size_t from = 0; from < 3; from++) {
        uint32_t plain[8], fast[8];
        for (int i = 0; i < 8; i++)
          plain[i] = fast[i] = (uint32_t)i * 0x9e3779b9u;
        sha256_blocks_portable(plain, bytes + from, count);
        sha256_blocks_instruction(fast, bytes + from, count);
        CHECK(memcmp(plain, fast, sizeof plain) == 0);
      }
  }
  TEST("SHA-256 in plain C gives the value NIST publishes") {
    static const unsigned char abc[64] = {'a', 'b', 'c', 0x80, [63] = 24};
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    sha256_blocks_portable(state, abc, 1);
    CHECK(state[0] == 0xba7816bf && state[7] == 0xf20015ad);
  }
  TEST("SHA-256 of a million letters a, in pieces of any size") {
    static char letters[1000];
    memset(letters, 'a', sizeof letters);
    struct sha256 s;
    sha256_init(&s);
    for (size_t left = 1000000, piece = 1; left > 0; piece = piece % 997 + 1) {
      size_t now = piece < left ? piece : left;
      sha256_add(&s, letters, now);
      left -= now;
    }
    sha256_finish_hex(&s, hex);
    CHECK_STR(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
  TEST("SHA-256 pads rightly at every length around a block") {
    char text[200], whole[65];
    memset(text, 'x', sizeof text);
    for (size_t length = 50; length < 140; length++) {
      sha256_hex(text, length, whole);
      struct sha256 s;
      sha256_init(&s);
      for (size_t i = 0; i < length; i++)
        sha256_add(&s, text + i, 1);
      sha256_finish_hex(&s, hex);
      CHECK_STR(hex, whole);
    }
    sha256_hex(text, 55, hex);
    CHECK_STR(hex, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
    sha256_hex(text, 56, hex);
    CHECK_STR(hex, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
    sha256_hex(text, 64, hex);
    CHECK_STR(hex, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
  }
}

int main(void) {
  test_errors();
  test_buffers();
  test_crc();
  test_sha();
  return check_finish();
}

/* test_http_address.c: which addresses a request may be sent to. */
#include "support/check.h"
#include "transport/http_address.c" /* it lies in http.so, whose names nobody sees */

static bool is_asked(const char *address) {
  return http_address_text_allowed("public", address);
}

static void test_public(void) {
  TEST("hosts of the public internet are allowed") {
    static const char *const good[] = {"1.1.1.1",          "8.8.8.8",         "172.15.255.255",
                                       "172.32.0.1",       "100.63.0.1",      "100.128.0.1",
                                       "192.167.1.1",      "223.255.255.254", "2606:4700::1",
                                       "2a00:1450:4001::", "::ffff:8.8.8.8"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
      CHECK(is_asked(good[i]));
  }
  TEST("this machine, private networks and what leads to them are not") {
    static const char *const bad[] = {"127.0.0.1",
                                      "127.255.255.255",
                                      "0.0.0.0",
                                      "10.0.0.1",
                                      "172.16.0.1",
                                      "172.31.9.9",
                                      "192.168.0.1",
                                      "169.254.169.254",
                                      "100.64.0.1",
                                      "192.0.0.8",
                                      "198.18.0.1",
                                      "224.0.0.1",
                                      "255.255.255.255",
                                      "::",
                                      "::1",
                                      "fe80::1",
                                      "fe80::1%eth0",
                                      "fc00::1",
                                      "fdff::1",
                                      "ff02::1",
                                      "::ffff:127.0.0.1",
                                      "::ffff:10.1.1.1",
                                      "::127.0.0.1",
                                      "64:ff9b::7f00:1",
                                      "2002:7f00:1::",
                                      "2001::1",
                                      "2001:db8::1",
                                      "3fff::1",
                                      "4000::1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
      CHECK(!is_asked(bad[i]));
  }
  TEST("what is no address is not") {
    static const char *const bad[] = {"",          "?",      "localhost", "1.2.3",
                                      "1.2.3.4.5", "0x7f.1", ":::",       "1.1.1.1 "};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
      CHECK(!is_asked(bad[i]));
  }
}

static void test_networks(void) {
  TEST("networks are allowed besides, to the bit") {
    CHECK(http_address_text_allowed("public 127.0.0.0/8", "127.9.9.9"));
    CHECK(http_address_text_allowed("10.1.0.0/20", "10.1.15.255"));
    CHECK(!http_address_text_allowed("10.1.0.0/20", "10.1.16.0"));
    CHECK(!http_address_text_allowed("10.1.0.0/20", "8.8.8.8"));
    CHECK(http_address_text_allowed("10.1.2.3", "10.1.2.3"));
    CHECK(!http_address_text_allowed("10.1.2.3", "10.1.2.4"));
    CHECK(http_address_text_allowed("10.1.2.3/32", "10.1.2.3"));
    CHECK(!http_address_text_allowed("10.1.2.3/32", "10.1.2.2"));
    CHECK(http_address_text_allowed("::1/128", "::1"));
    CHECK(http_address_text_allowed("fd00::/8", "fd12::1"));
    CHECK(!http_address_text_allowed("fd00::/8", "fe12::1"));
    CHECK(http_address_text_allowed("::1", "::1"));
    CHECK(http_address_text_allowed("127.0.0.1", "::ffff:127.0.0.1"));
  }
  TEST("a network that cannot be read allows nothing") {
    static const char *const bad[] = {
        "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "/8", "ten", ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
      CHECK(!http_address_text_allowed(bad[i], "10.0.0.1"));
  }
}

int main(void) {
  test_public();
  test_networks();
  return check_finish();
}

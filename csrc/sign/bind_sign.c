/* bind_sign.c: the module skillrt.sign: signatures by OpenSSL's libcrypto.
 *
 * generate() -> PEM of a new Ed25519 key; public(pem) -> PEM of the public half of a key;
 * sign(pem, bytes) -> signature; verify(pem, bytes, signature) -> boolean; both also nil, message.
 * Knows no receipts and no files. */
#include <lauxlib.h>
#include <lua.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdbool.h>

enum { SIGNATURE = 64, TEXT_MAX = 64 << 20 };

/* No file asks a person for a passphrase. */
static int no_passphrase(char *to, int room, int writes, void *data) {
  (void)to, (void)room, (void)writes, (void)data;
  return -1;
}

/* The key of the PEM at `at`: a private one, or where that suffices a public one. */
static EVP_PKEY *key_read(lua_State *L, int at, bool is_private) {
  size_t length;
  const char *text = luaL_checklstring(L, at, &length);
  BIO *from = length <= TEXT_MAX ? BIO_new_mem_buf(text, (int)length) : NULL;
  if (!from) return NULL;
  EVP_PKEY *key = PEM_read_bio_PrivateKey(from, NULL, no_passphrase, NULL);
  if (!key && !is_private && BIO_reset(from) > 0)
    key = PEM_read_bio_PUBKEY(from, NULL, no_passphrase, NULL);
  BIO_free(from);
  if (key && EVP_PKEY_get_base_id(key) != EVP_PKEY_ED25519) {
    EVP_PKEY_free(key);
    key = NULL;
  }
  return key;
}

static int fail(lua_State *L, const char *message) {
  lua_pushnil(L);
  lua_pushstring(L, message);
  return 2;
}

static int no_key(lua_State *L, bool is_private) {
  return fail(L, is_private ? "is not a private Ed25519 key in PEM without a passphrase"
                            : "is no Ed25519 key in PEM");
}

/* Pushes what was written to `out` and frees it. */
static int push_text(lua_State *L, BIO *out, bool is_good) {
  char *text;
  long length = is_good ? BIO_get_mem_data(out, &text) : 0;
  if (length > 0) lua_pushlstring(L, text, (size_t)length);
  BIO_free(out);
  return length > 0 ? 1 : fail(L, "libcrypto could not write the key");
}

static int sign_generate(lua_State *L) {
  EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
  BIO *out = BIO_new(BIO_s_mem());
  bool is_good =
      key && out && PEM_write_bio_PKCS8PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) == 1;
  EVP_PKEY_free(key);
  return push_text(L, out, is_good);
}

static int sign_public(lua_State *L) {
  EVP_PKEY *key = key_read(L, 1, false);
  if (!key) return no_key(L, false);
  BIO *out = BIO_new(BIO_s_mem());
  bool is_good = out && PEM_write_bio_PUBKEY(out, key) == 1;
  EVP_PKEY_free(key);
  return push_text(L, out, is_good);
}

static int sign_sign(lua_State *L) {
  size_t length, size = SIGNATURE;
  unsigned char signature[SIGNATURE];
  const unsigned char *bytes = (const unsigned char *)luaL_checklstring(L, 2, &length);
  EVP_PKEY *key = key_read(L, 1, true);
  if (!key) return no_key(L, true);
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  bool is_good = context && EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
                 EVP_DigestSign(context, signature, &size, bytes, length) == 1;
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(key);
  if (!is_good) return fail(L, "libcrypto could not sign");
  lua_pushlstring(L, (const char *)signature, size);
  return 1;
}

static int sign_verify(lua_State *L) {
  size_t length, size;
  const unsigned char *bytes = (const unsigned char *)luaL_checklstring(L, 2, &length);
  const unsigned char *signature = (const unsigned char *)luaL_checklstring(L, 3, &size);
  EVP_PKEY *key = key_read(L, 1, false);
  if (!key) return no_key(L, false);
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  lua_pushboolean(L, context && EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1 &&
                         EVP_DigestVerify(context, signature, size, bytes, length) == 1);
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(key);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_skillrt_sign(lua_State *L) {
  static const luaL_Reg functions[] = {{"generate", sign_generate},
                                       {"public", sign_public},
                                       {"sign", sign_sign},
                                       {"verify", sign_verify},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}

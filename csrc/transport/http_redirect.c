/* http_redirect.c: decides whether a redirect may be followed, by hand: libcurl would carry
 * headers along. Only within the same origin (scheme, host, port), so that no credential and no
 * prompt ever reaches another one; 307 and 308 repeat the request, 303 becomes a GET, 301 and
 * 302 only of a GET or HEAD, as of a POST they are ambiguous. Called by http.c. */
#include <string.h>
#include <strings.h>

#include "transport/http_call.h"

bool http_is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static bool same_origin(const char *here, const char *there) {
  struct origin from, to;
  bool same = http_origin(here, &from) == CURLUE_OK;
  if (http_origin(there, &to) != CURLUE_OK) same = false;
  same = same && strcmp(from.scheme, to.scheme) == 0 && strcasecmp(from.host, to.host) == 0 &&
         strcmp(from.port, to.port) == 0;
  http_origin_clear(&from);
  http_origin_clear(&to);
  return same;
}

/* False: a redirect with this code would change the request. */
static bool redirect_method(struct call *call) {
  if (call->status == 307 || call->status == 308 || http_reads(call->task)) return true;
  if (call->status != 303) return false;
  return curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, NULL) == CURLE_OK &&
         curl_easy_setopt(call->easy, CURLOPT_HTTPGET, 1L) == CURLE_OK;
}

bool http_redirect(struct call *call, struct outcome *outcome) {
  struct span shown = http_header(call, "location");
  int length = shown.length > 120 ? 120 : (int)shown.length;
  char *to = NULL, *from = NULL; /* libcurl's; `to` is absolute */
  curl_easy_getinfo(call->easy, CURLINFO_REDIRECT_URL, &to);
  curl_easy_getinfo(call->easy, CURLINFO_EFFECTIVE_URL, &from);
  const char *refusal = NULL;
  if (call->task->http.max_redirects == 0)
    refusal = "redirects are not followed; use that URL if you trust it";
  else if (call->redirects >= call->task->http.max_redirects)
    refusal = "too many redirects";
  else if (!to || !from || !same_origin(from, to))
    refusal = "to another origin, where nothing is sent";
  else if (!redirect_method(call))
    refusal = "would lose the request's body";
  if (refusal) {
    http_outcome(call, outcome, REPLY_REFUSED, "redirect %d to %.*s refused: %s", call->status,
                 length, shown.data ? shown.data : "", refusal);
    return false;
  }
  call->redirects++;
  CURLcode code = curl_easy_setopt(call->easy, CURLOPT_URL, to);
  if (code)
    http_outcome(call, outcome, REPLY_BROKEN, "%s", curl_easy_strerror(code));
  else
    http_reply_reset(call);
  return code == CURLE_OK;
}

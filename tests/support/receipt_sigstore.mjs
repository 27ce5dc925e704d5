// receipt_sigstore.mjs: verifies receipts by sigstore's own library: node receipt_sigstore.mjs WHERE PUBLIC_KEY FILE ...
// WHERE has node_modules with @sigstore/verify. Each line is a bundle with a key that is known by other means: no
// certificate, no log. Prints for each file how many lines hold, or "refused".
import { createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [where, key_file, ...files] = process.argv.slice(2);
const require = createRequire(where + "/x.js");
const { bundleFromJSON, BUNDLE_V03_MEDIA_TYPE } = require("@sigstore/bundle");
const { toSignedEntity, Verifier } = require("@sigstore/verify");
const key = createPublicKey(readFileSync(key_file));
const material = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [],
  publicKey: () => ({ publicKey: key, validFor: () => true }) };
const verifier = new Verifier(material, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0, tsaThreshold: 0 });

function count_of(file) {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  for (const line of lines) {
    const envelope = JSON.parse(line);
    verifier.verify(toSignedEntity(bundleFromJSON({ mediaType: BUNDLE_V03_MEDIA_TYPE,
      verificationMaterial: { publicKey: { hint: "receipt" }, tlogEntries: [],
        timestampVerificationData: { rfc3161Timestamps: [] } },
      dsseEnvelope: { payload: envelope.payload, payloadType: envelope.payloadType,
        signatures: envelope.signatures.map((one) => ({ sig: one.sig, keyid: "" })) } })));
  }
  return lines.length;
}

for (const file of files) {
  try {
    console.log(count_of(file));
  } catch {
    console.log("refused");
  }
}

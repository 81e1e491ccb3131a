#!/usr/bin/env bash
# Makes the keys that sign the slices of pods, or replaces the signing key: keys.sh [SECONDS=180]
#
# The private key is in the Secret tephra-slices-keys of tephra-system, and the public keys are also in the ConfigMap
# tephra-slices-keys of tephra-node. A new key signs after SECONDS, when the kubelets have given its public key to the nodes.
# An earlier public key stays as long as a pod has a signature by its key. KUBECTL names another kubectl, SCHEDULER_NAMESPACE
# and NODE_NAMESPACE other namespaces.
set -euo pipefail

seconds=${1:-180}
[[ $seconds =~ ^[0-9]+$ ]] || { echo "usage: keys.sh [SECONDS=180]" >&2; exit 2; }
read -ra kubectl <<<"${KUBECTL:-kubectl}"
scheduler=${SCHEDULER_NAMESPACE:-tephra-system}
node=${NODE_NAMESPACE:-tephra-node}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
umask 077
mkdir "$folder/public" "$folder/before"

# The name that signatures have for a public key.
name_of() { openssl pkey -pubin -in "$1" -outform DER | tail -c 32 | sha256sum | cut -c1-8; }

# put [PRIVATE_KEY]: the public keys, and the private key that signs; without it, the signing key stays.
put() {
  "${kubectl[@]}" -n "$node" create configmap tephra-slices-keys --from-file="$folder/public" --dry-run=client -o yaml |
    "${kubectl[@]}" apply -f - >/dev/null
  "${kubectl[@]}" -n "$scheduler" create secret generic tephra-slices-keys --from-file="$folder/public" \
    --from-file=sign.pem="${1:-$folder/before/sign.pem}" --dry-run=client -o yaml | "${kubectl[@]}" apply -f - >/dev/null
}

openssl genpkey -algorithm ed25519 -out "$folder/sign.pem"
openssl pkey -in "$folder/sign.pem" -pubout -out "$folder/new.pub"
new=$(name_of "$folder/new.pub")
cp "$folder/new.pub" "$folder/public/$new.pub"

secret=$("${kubectl[@]}" -n "$scheduler" get secret tephra-slices-keys --ignore-not-found \
  -o go-template='{{range $name, $text := .data}}{{$name}} {{$text}}{{"\n"}}{{end}}')
if [ -z "$secret" ]; then
  # Pods of before have no signature, and the scheduler signs once the component is applied.
  date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ >"$folder/public/since"
  put "$folder/sign.pem"
  echo "key $new signs; pods that are created before $(<"$folder/public/since") need no signature"
  exit
fi

while read -r name text; do
  base64 -d <<<"$text" >"$folder/before/$name"
done <<<"$secret"
[ ! -f "$folder/before/since" ] || cp "$folder/before/since" "$folder/public/since"
openssl pkey -in "$folder/before/sign.pem" -pubout -out "$folder/before/signing"
used=$("${kubectl[@]}" get pods --all-namespaces \
  -o go-template='{{range .items}}{{with .metadata.annotations}}{{with index . "tephra.sh/slices-signature"}}{{.}}{{"\n"}}{{end}}{{end}}{{end}}' | cut -d. -f2)
signing=$(name_of "$folder/before/signing")
for key in "$folder"/before/*.pub; do
  name=$(name_of "$key")
  if [ "$name" = "$signing" ] || grep -qx "$name" <<<"$used"; then
    cp "$key" "$folder/public/$name.pub"
  else
    echo "key $name is removed: no pod has a signature by it"
  fi
done
put
echo "key $new signs in $seconds s; key $signing signs until then"
sleep "$seconds"
put "$folder/sign.pem"
echo "key $new signs"

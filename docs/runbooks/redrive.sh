#!/usr/bin/env bash
# shellcheck disable=SC2016    # $t and its like are jq's
# Makes the stream handler look again at the items of records that its event source discarded.
#
#   docs/runbooks/redrive.sh TABLE PATH...
#
# Each PATH is a file, or a directory of files, as Lambda puts them into the bucket of failed records: JSON objects with a
# `payload`, which is the event or its text. The script reads all of them before it writes anything, and prints a line for each item.
#
# The environment says where the table is (AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL_DYNAMODB …). If the table has other names than usual,
# it also has PARTITION_KEY, SORT_KEY, NODE_SORT_KEY, PARENT_ATTRIBUTE and SEGMENT_ATTRIBUTE, with the functions' values.
#
# The script needs bash, jq 1.6, the AWS CLI 1 or 2, and GetItem, UpdateItem, PutItem and DeleteItem on the table. It can be repeated, and run
# while others write. It replays no record, because a record is old and alone. failed-records.md has the reasons for each kind of item.
set -euo pipefail

if [ $# -lt 2 ]; then
  echo "usage: ${0##*/} TABLE FILE_OR_DIRECTORY..." >&2
  exit 2
fi
table=$1
shift
names=$(jq -nc --arg pk "${PARTITION_KEY:-PK}" --arg sk "${SORT_KEY:-SK}" --arg node "${NODE_SORT_KEY:-NODE}" \
  --arg parent "${PARENT_ATTRIBUTE:-parent}" --arg segment "${SEGMENT_ATTRIBUTE:-segment}" '$ARGS.named')
# The mark has 19 digits: it differs each time, and is below any sequence number of a stream, which has 21 digits or more.
mark=$(date -u +%s)$(printf %09d $(((RANDOM * 32768 + RANDOM) % 1000000000)))

# Runs jq with the variables $t (the table), $n (the names), $m (the mark) and $k (the item's key).
with() { # KEY JQ_ARGUMENTS...
  local key=$1
  shift
  jq -c --arg t "$table" --arg m "$mark" --argjson n "$names" --argjson k "$key" "$@"
}

# Makes a write. Returns 1 if its condition fails; any other error ends the script.
write() { # OPERATION INPUT
  local said pause
  for pause in 1 2 4 8 0; do
    said=$(aws dynamodb "$1" --cli-input-json "$2" 2>&1 >/dev/null) && return 0
    [[ $said == *ConditionalCheckFailed* ]] && return 1
    [[ $said == *TransactionConflict* && $pause != 0 ]] || break    # the CLI retries throttled requests, but not these
    sleep "$pause"
  done
  echo "$said" >&2
  exit 1
}

# Reads an item strongly. Prints null if it doesn't exist.
item() { # KEY
  local asked found
  asked=$(with "$1" -n '{TableName: $t, Key: $k, ConsistentRead: true}')
  found=$(aws dynamodb get-item --output json --cli-input-json "$asked") || exit 1
  jq -c '.Item' <<<"${found:-null}"
}

# Sets an attribute that no row carries, on an item that exists. `_touched` wouldn't do: if only that changes, the handler leaves rows as they
# are.
touch_item() { # KEY
  write update-item "$(with "$1" -n '{TableName: $t, Key: $k,
    UpdateExpression: "SET #mark = :mark", ConditionExpression: "attribute_exists(#pk)",
    ExpressionAttributeNames: {"#mark": "_redriven", "#pk": $n.pk}, ExpressionAttributeValues: {":mark": {S: $m}}}')"
}

# Puts back an item that is gone, and deletes it again. The deletion makes the record that was lost.
put_and_delete() { # KEY ATTRIBUTES
  trap '' INT TERM    # no signal may stop the script between the two
  if write put-item "$(with "$1" --argjson i "$2" -n '{TableName: $t, Item: ($i + $k + {"_redriven": {S: $m}}),
      ConditionExpression: "attribute_not_exists(#pk)", ExpressionAttributeNames: {"#pk": $n.pk}}')"; then
    write delete-item "$(with "$1" -n '{TableName: $t, Key: $k, ConditionExpression: "#mark = :mark",
      ExpressionAttributeNames: {"#mark": "_redriven"}, ExpressionAttributeValues: {":mark": {S: $m}}}')" || true
  fi
  trap - INT TERM
}

# Prints the key of another item of the same partition.
neighbour() { with "$1" --arg sk "$2" -n '$k + {($n.sk): {S: $sk}}'; }

node() {
  local now lineage
  if touch_item "$1"; then
    echo "touched       $2"
    # Its lineage may have said so already, and nobody was told.
    now=$(item "$1")
    if [[ $(jq '. != null and has("_deleting")' <<<"$now") == true ]]; then lineage "$(neighbour "$1" LINEAGE)" "$2"; fi
    return
  fi
  lineage=$(item "$(neighbour "$1" LINEAGE)")
  if [[ $(jq '. == null or has("deleted")' <<<"$lineage") == true ]]; then echo "nothing left  $2"; return; fi
  # The lineage says which life of the node it was, where it stood, and whether it was being deleted.
  put_and_delete "$1" "$(with "$1" '
    (if .born then {_born: .born} else {} end)
    + ((.deleting.M.heir // .ancestors.L[0]) as $p | if $p then {($n.parent): $p} else {} end)
    + (.deleting.M as $d | if $d.heir_born then {_under: {M: {parent: $d.heir, born: $d.heir_born}}} else {} end)
    + (if .path.L[-1] and .path.L[-1] != $k[$n.pk] then {($n.segment): .path.L[-1]} else {} end)
    + (if .deleting then {"_deleting": {M: (.deleting.M | del(.heir, .heir_born))}} else {} end)' <<<"$lineage")"
  echo "deleted again $2"
}

revision() {
  touch_item "$1" && echo "touched       $2" && return
  local copy version
  copy=$(item "$(with "$1" -n '$k + {($n.sk): {S: ($k[$n.sk].S | sub("^v[abc]?[0-9]+_"; "v0_"))}}')")
  version=$(with "$1" -nr '$k[$n.sk].S | capture("^v[abc]?(?<k>[0-9]+)_").k | tonumber')
  if [[ $(jq -r '._version.N' <<<"$copy") == "$version" ]]; then
    put_and_delete "$1" '{}'
    echo "deleted again $2"
  else
    echo "nothing left  $2"
  fi
}

# Puts a cursor, whose record makes the handler do from the start what the lineage's change asked for: touch all children, or delete the
# node. It may replace a cursor that is half way.
lineage() {
  write put-item "$(with "$(neighbour "$1" CASCADE)" -n '{TableName: $t,
    Item: ($k + {format: {N: "1"}, sequence: {S: (("0" * (40 - ($m | length))) + $m)}})}')"
  echo "cascaded      $2"
}

cursor() { if touch_item "$1"; then echo "touched       $2"; else echo "nothing left  $2"; fi; }

keys=$(mktemp)
trap 'rm -f "$keys"' EXIT
find "$@" -type f -exec jq -cS 'try (.payload | if type == "string" then fromjson else . end
  | .Records[] | .dynamodb.Keys // error("a record names no item")) catch "\(input_filename): \(.)"' {} + |
  LC_ALL=C sort -u >"$keys"
unread=$(jq -r strings "$keys")
if [ -n "$unread" ]; then
  printf 'not an object of the bucket of failed records:\n%s\n' "$unread" >&2
  exit 1
fi

while read -r key <&3; do
  sk=$(with "$key" -nr '$k[$n.sk].S')
  shown=$(with "$key" -nr '"\($k[$n.pk].S | tojson) \($k[$n.sk].S | tojson)"')
  case $sk in
    "$(jq -r .node <<<"$names")") node "$key" "$shown" ;;
    LINEAGE) lineage "$key" "$shown" ;;
    CASCADE) cursor "$key" "$shown" ;;
    *)
      if [[ $sk =~ ^v([0-9]{3}|a[1-9][0-9]{3}|b[1-9][0-9]{4}|c[1-9][0-9]{5})_ && $sk != v000_* ]]; then
        revision "$key" "$shown"
      else
        echo "not ours      $shown"
      fi
      ;;
  esac
done 3<"$keys"

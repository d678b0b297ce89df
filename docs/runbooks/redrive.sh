#!/usr/bin/env bash
# shellcheck disable=SC2016    # $t and its like are jq's
# Has the items handled again that are named by records which the stream handler's event source gave up.
#
#   docs/runbooks/redrive.sh TABLE PATH...
#
# Each PATH is a file, or a directory of files, as Lambda puts them into the bucket of failed records: JSON objects with a
# `payload`, which is the event or its text. All are read before anything is written. A line for each item says what was done.
#
# The environment says where the table is (AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL_DYNAMODB …) and how it is kept, where that
# isn't as usual: PARTITION_KEY, SORT_KEY, NODE_SORT_KEY, PARENT_ATTRIBUTE, SEGMENT_ATTRIBUTE, as the functions have them.
#
# Needs bash, jq 1.6 and the AWS CLI, 1 or 2; GetItem, UpdateItem, PutItem and DeleteItem on the table. It may be repeated, and
# run while others write. No record is replayed: it is old and alone. Why each kind of item is treated as it is:
# failed-records.md.
set -euo pipefail

if [ $# -lt 2 ]; then
  echo "usage: ${0##*/} TABLE FILE_OR_DIRECTORY..." >&2
  exit 2
fi
table=$1
shift
names=$(jq -nc --arg pk "${PARTITION_KEY:-PK}" --arg sk "${SORT_KEY:-SK}" --arg node "${NODE_SORT_KEY:-NODE}" \
  --arg parent "${PARENT_ATTRIBUTE:-parent}" --arg segment "${SEGMENT_ATTRIBUTE:-segment}" '$ARGS.named')
# 19 digits: another number each time, and below any sequence number of a stream, which has 21 or more.
mark=$(date -u +%s)$(printf %09d $(((RANDOM * 32768 + RANDOM) % 1000000000)))

# jq with all that there is to know: $t, the table; $n, the names; $m, the mark; $k, the key of the item in question.
with() { # KEY JQ_ARGUMENTS...
  local key=$1
  shift
  jq -c --arg t "$table" --arg m "$mark" --argjson n "$names" --argjson k "$key" "$@"
}

# A write. Fails where its condition does; any other error ends all.
write() { # OPERATION INPUT
  local said pause
  for pause in 1 2 4 8 0; do
    said=$(aws dynamodb "$1" --cli-input-json "$2" 2>&1 >/dev/null) && return 0
    [[ $said == *ConditionalCheckFailed* ]] && return 1
    [[ $said == *TransactionConflict* && $pause != 0 ]] || break    # the CLI tries throttled requests again, and not these
    sleep "$pause"
  done
  echo "$said" >&2
  exit 1
}

# An item, strongly read; null where it isn't there.
item() { # KEY
  local asked found
  asked=$(with "$1" -n '{TableName: $t, Key: $k, ConsistentRead: true}')
  found=$(aws dynamodb get-item --output json --cli-input-json "$asked") || exit 1
  jq -c '.Item' <<<"${found:-null}"
}

# Changes an item that is there, in an attribute that no row carries. `_touched` wouldn't do: for that one the handler leaves rows
# as they are.
touch_item() { # KEY
  write update-item "$(with "$1" -n '{TableName: $t, Key: $k,
    UpdateExpression: "SET #mark = :mark", ConditionExpression: "attribute_exists(#pk)",
    ExpressionAttributeNames: {"#mark": "_redriven", "#pk": $n.pk}, ExpressionAttributeValues: {":mark": {S: $m}}}')"
}

# Puts an item back that is gone, and deletes it again: that makes the record which was lost.
put_and_delete() { # KEY ATTRIBUTES
  trap '' INT TERM    # not in between
  if write put-item "$(with "$1" --argjson i "$2" -n '{TableName: $t, Item: ($i + $k + {"_redriven": {S: $m}}),
      ConditionExpression: "attribute_not_exists(#pk)", ExpressionAttributeNames: {"#pk": $n.pk}}')"; then
    write delete-item "$(with "$1" -n '{TableName: $t, Key: $k, ConditionExpression: "#mark = :mark",
      ExpressionAttributeNames: {"#mark": "_redriven"}, ExpressionAttributeValues: {":mark": {S: $m}}}')" || true
  fi
  trap - INT TERM
}

neighbour() { with "$1" --arg sk "$2" -n '$k + {($n.sk): {S: $sk}}'; }    # the key of another item of this partition

node() {
  touch_item "$1" && echo "touched      $2" && return
  local lineage
  lineage=$(item "$(neighbour "$1" LINEAGE)")
  if [[ $(jq '. == null or has("deleted")' <<<"$lineage") == true ]]; then echo "nothing left $2"; return; fi
  # It stood where its lineage says, and was being removed if that says so.
  put_and_delete "$1" "$(with "$1" '
    (if .ancestors.L[0] then {($n.parent): .ancestors.L[0]} else {} end)
    + (if .path.L[-1] and .path.L[-1] != $k[$n.pk] then {($n.segment): .path.L[-1]} else {} end)
    + (if .deleting then {"_deleting": {M: (.deleting.M | del(.heir, .heir_seen))}} else {} end)' <<<"$lineage")"
  echo "deleted anew $2"
}

revision() {
  touch_item "$1" && echo "touched      $2" && return
  local copy version
  copy=$(item "$(with "$1" -n '$k + {($n.sk): {S: ($k[$n.sk].S | sub("^v[abc]?[0-9]+_"; "v0_"))}}')")
  version=$(with "$1" -nr '$k[$n.sk].S | capture("^v[abc]?(?<k>[0-9]+)_").k | tonumber')
  if [[ $(jq -r '._version.N' <<<"$copy") == "$version" ]]; then
    put_and_delete "$1" '{}'
    echo "deleted anew $2"
  else
    echo "nothing left $2"
  fi
}

# What a lineage's change asked for is done from the start by a cursor, whose own record the handler carries on.
lineage() {
  local now
  now=$(item "$1")
  write put-item "$(with "$(neighbour "$1" CASCADE)" '{TableName: $t,
    Item: ($k + {format: {N: "1"}, sequence: {S: (("0" * (40 - ($m | length))) + $m)}}
      + (if .deleting and (has("deleted") | not) then {children: .deleting.M.operation} else {} end))}' <<<"$now")"
  echo "handed down  $2"
}

cursor() { if touch_item "$1"; then echo "touched      $2"; else echo "nothing left $2"; fi; }

keys=$(mktemp)
trap 'rm -f "$keys"' EXIT
find "$@" -type f -exec jq -cS 'try (.payload | if type == "string" then fromjson else . end
  | .Records[] | .dynamodb.Keys // error("a record names no item")) catch "\(input_filename): \(.)"' {} + |
  LC_ALL=C sort -u >"$keys"
unread=$(jq -r strings "$keys")
if [ -n "$unread" ]; then
  printf 'what is no object of the bucket of failed records:\n%s\n' "$unread" >&2
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
        echo "not ours     $shown"
      fi
      ;;
  esac
done 3<"$keys"

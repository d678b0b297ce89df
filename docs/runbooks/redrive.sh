#!/usr/bin/env bash
# Has the items handled again that are named by records which the stream handler's event source gave up.
#
#   redrive.sh TABLE FILE...      each FILE is one or more objects of the bucket of failed records
#
# Needs bash, jq and the AWS CLI. Safe to repeat, and while others write. A record is never replayed: it is old and alone. Why each kind
# of item is treated as it is: failed-records.md.
set -euo pipefail

table=$1
shift
names=$(jq -nc --arg pk "${PARTITION_KEY:-PK}" --arg sk "${SORT_KEY:-SK}" --arg node "${NODE_SORT_KEY:-NODE}" \
  --arg parent "${PARENT_ATTRIBUTE:-parent}" --arg segment "${SEGMENT_ATTRIBUTE:-segment}" '$ARGS.named')
mark=$(date -u +%s)$(printf %09d $(((RANDOM * 32768 + RANDOM) % 1000000000)))    # 19 digits: below any sequence number of a stream

# A write. Fails where its condition does; any other error ends all.
write() { # OPERATION INPUT
  local said
  said=$(aws dynamodb "$1" --cli-input-json "$2" 2>&1 >/dev/null) && return 0
  [[ $said == *ConditionalCheckFailed* ]] && return 1
  echo "$said" >&2
  exit 1
}

# An item, strongly read; null where it isn't there.
item() { # KEY
  local found
  found=$(aws dynamodb get-item --output json --cli-input-json \
    "$(jq -nc --arg t "$table" --argjson k "$1" '{TableName: $t, Key: $k, ConsistentRead: true}')") || exit 1
  jq -c '.Item' <<<"${found:-null}"
}

# Changes an item that is there, in an attribute that no row carries. `_touched` wouldn't do: the handler doesn't put rows anew for it.
touch_item() { # KEY
  write update-item "$(jq -nc --arg t "$table" --argjson k "$1" --argjson n "$names" --arg m "$mark" '{TableName: $t, Key: $k,
    UpdateExpression: "SET #mark = :mark", ConditionExpression: "attribute_exists(#pk)",
    ExpressionAttributeNames: {"#mark": "_redriven", "#pk": $n.pk}, ExpressionAttributeValues: {":mark": {S: $m}}}')"
}

# Puts an item back that is gone, and deletes it again: that makes the record which was lost.
put_and_delete() { # KEY ITEM
  write put-item "$(jq -nc --arg t "$table" --argjson k "$1" --argjson i "$2" --argjson n "$names" --arg m "$mark" '{TableName: $t,
    Item: ($i + $k + {"_redriven": {S: $m}}), ConditionExpression: "attribute_not_exists(#pk)",
    ExpressionAttributeNames: {"#pk": $n.pk}}')" || return 0
  write delete-item "$(jq -nc --arg t "$table" --argjson k "$1" --arg m "$mark" '{TableName: $t, Key: $k,
    ConditionExpression: "#mark = :mark", ExpressionAttributeNames: {"#mark": "_redriven"},
    ExpressionAttributeValues: {":mark": {S: $m}}}')" || return 0
}

key() { jq -c --arg sk "$2" --argjson n "$names" '.[$n.sk] = {S: $sk}' <<<"$1"; }    # the key of another item of this partition

node() {
  touch_item "$1" && echo "touched      $2" && return
  local lineage
  lineage=$(item "$(key "$1" LINEAGE)")
  if [[ $(jq '. == null or has("gone")' <<<"$lineage") == true ]]; then echo "nothing left $2"; return; fi
  # It stood where its lineage says, and was being removed if that says so.
  put_and_delete "$1" "$(jq -c --argjson n "$names" '
    (if .ancestors.L[0] then {($n.parent): .ancestors.L[0]} else {} end)
    + (if .path.L[-1] and .path.L[-1] != .[$n.pk] then {($n.segment): .path.L[-1]} else {} end)
    + (if .leaving then {"_leaving": {M: (.leaving.M | del(.to, .seen))}} else {} end)' <<<"$lineage")"
  echo "deleted anew $2"
}

revision() {
  touch_item "$1" && echo "touched      $2" && return
  local copy version
  copy=$(item "$(key "$1" "$(jq -r --argjson n "$names" '.[$n.sk].S | sub("^v[abc]?[0-9]+_"; "v0_")' <<<"$1")")")
  version=$(jq -r --argjson n "$names" '.[$n.sk].S | capture("^v[abc]?(?<k>[0-9]+)_").k | tonumber' <<<"$1")
  if [[ $(jq -r '._version.N' <<<"$copy") != "$version" ]]; then echo "nothing left $2"; return; fi
  put_and_delete "$1" '{}'
  echo "deleted anew $2"
}

# What a lineage's change asked for is done from the start by a cursor, whose own record the handler carries on.
lineage() {
  local now
  now=$(item "$1")
  write put-item "$(jq -nc --arg t "$table" --argjson k "$(key "$1" CASCADE)" --argjson now "$now" --arg m "$mark" '{TableName: $t,
    Item: ($k + {sequence: {S: (("0" * (40 - ($m | length))) + $m)}}
      + (if $now.leaving and ($now | has("gone") | not) then {releasing: $now.leaving.M.operation} else {} end))}')"
  echo "handed down  $2"
}

cursor() { if touch_item "$1"; then echo "touched      $2"; else echo "nothing left $2"; fi; }

jq -sc '[.[].payload | if type == "string" then fromjson else . end | .Records[].dynamodb.Keys] | unique[]' "$@" |
  while read -r key; do
    sk=$(jq -r --argjson n "$names" '.[$n.sk].S' <<<"$key")
    shown=$(jq -r --argjson n "$names" '"\(.[$n.pk].S) \(.[$n.sk].S)"' <<<"$key")
    case $sk in
      "$(jq -r .node <<<"$names")") node "$key" "$shown" ;;
      LINEAGE) lineage "$key" "$shown" ;;
      CASCADE) cursor "$key" "$shown" ;;
      v000_*) echo "not ours     $shown" ;;
      *) if [[ $sk =~ ^v([0-9]{3}|a[1-9][0-9]{3}|b[1-9][0-9]{4}|c[1-9][0-9]{5})_ ]]; then revision "$key" "$shown"; else echo "not ours     $shown"; fi ;;
    esac
  done

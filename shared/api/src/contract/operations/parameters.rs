//! The parameters of operations, as parameter objects of the OpenAPI document: each is described once.

use sapwood_core::keys::{DEPTH_MAX, ID_BYTES_MAX, SEGMENT_BYTES_MAX, Version};
use sapwood_engine::query::CHANGES_MAX;
use serde_json::{Value, json};

use crate::contract::{
    IDS_MAX, OPERATIONS_LISTED_DEFAULT, OPERATIONS_LISTED_MAX, PRINCIPALS_MAX, TOPIC_BYTES_MAX, WRITTEN_BYTES_MAX,
    WRITTEN_MAX,
};

pub(super) type Parameter = fn() -> Value;

/// The parameters of lists in the order of siblings.
pub(super) const SORTED: &[Parameter] = &[order_of_siblings, order_by, value_prefix, first_value, last_value, values];

/// The parameters of lists with pages.
pub(super) const PAGE: &[Parameter] = &[limit, cursor, fields];

/// The parameters of reads that can wait for a write.
pub(super) const READ: &[Parameter] = &[consistent, written, prefer_read];

/// The parameters of writes of a record.
pub(super) const WRITE: &[Parameter] = &[if_match, if_none_match, prefer];

/// A character of a segment other than `.`: itself, or its UTF-8 bytes as `~XX`. A client writes it so before its
/// generated code percent-encodes the path, which API Gateway decodes.
const CHARACTER: &str = "(?:[0-9A-Za-z_-]|~(?:[01][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-F])\
    |~(?:C[2-9A-F]|D[0-9A-F])~[89AB][0-9A-F]\
    |~(?:E0~[AB]|E[1-9A-CEF]~[89AB]|ED~[89])[0-9A-F]~[89AB][0-9A-F]\
    |~(?:F0~[9AB]|F[1-3]~[89AB]|F4~8)[0-9A-F](?:~[89AB][0-9A-F]){2})";

const WRITING: &str = "Letters, digits, `-`, `_` and `.` stand for themselves; every other byte of its UTF-8 is written `~XX` \
    with two hexadecimal digits, in capitals (`ORDER#98765` is `ORDER~2398765`). `.` and `..` are `~2E` and `~2E~2E`. Write a value like \
    this before a client percent-encodes it: API Gateway decodes percent-encoding.";

/// A segment of the path. A schema can't count bytes, so a longer segment may match, and is refused with 422.
fn segment(name: &str, description: &str, bytes_max: usize, example: &str) -> Value {
    let pattern = format!("^(?:~2E(?:~2E)?|\\.*{CHARACTER}(?:{CHARACTER}|\\.)*|\\.{{3,}})$");
    let schema = json!({"type": "string", "minLength": 1, "maxLength": 3 * bytes_max, "pattern": pattern});
    let description = format!("{description} At most {bytes_max} bytes. {WRITING}");
    json!({"in": "path", "name": name, "required": true, "description": description, "schema": schema, "example": example})
}

fn query(name: &str, description: &str, schema: Value) -> Value {
    json!({"in": "query", "name": name, "required": false, "description": description, "schema": schema})
}

/// A parameter that takes one of these words. The first is the default.
fn words(name: &str, description: &str, words: &[&str]) -> Value {
    query(name, description, json!({"type": "string", "enum": words, "default": words.first()}))
}

fn text(name: &str, description: &str, bytes_max: usize) -> Value {
    query(name, description, json!({"type": "string", "minLength": 1, "maxLength": bytes_max}))
}

fn header(name: &str, description: &str, pattern: &str, example: &str) -> Value {
    let schema = json!({"type": "string", "pattern": pattern});
    json!({
        "in": "header", "name": name, "required": false, "description": description, "schema": schema, "example": example,
    })
}

/// A parameter that comes once for each value.
fn several(name: &str, is_required: bool, description: &str, bytes_max: usize, count_max: usize) -> Value {
    let value = json!({"type": "string", "minLength": 1, "maxLength": bytes_max});
    let schema = json!({"type": "array", "items": value, "minItems": 1, "maxItems": count_max});
    json!({
        "in": "query", "name": name, "required": is_required, "description": description, "schema": schema,
        "style": "form", "explode": true,
    })
}

fn last_level(description: &str) -> Value {
    query("max_depth", description, json!({"type": "integer", "minimum": 0, "maximum": DEPTH_MAX}))
}

/// A parameter that takes the words of a schema. The first is the default.
fn words_of(name: &str, description: &str, schema: &str, default: &str) -> Value {
    query(name, description, json!({"$ref": format!("#/components/schemas/{schema}"), "default": default}))
}

const ENTITY_TAGS: &str = r#"^(?:\*|(?:W/)?"[!#-~]*"(?:, ?(?:W/)?"[!#-~]*")*)$"#;

const AN_ENTITY_TAG: &str = "\"n0bY6ZyJHlVYBv8TQ2r6Yw\"";

/// The characters of a header ([RFC 9110, 5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5)).
const FIELD_CONTENT: &str = "^[\\t -~]*$";

/// Declares parameters: each is a function that makes its object of the document.
macro_rules! parameters {
    ($($(#[$of:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$of])* pub(super) fn $name() -> Value {
            $value
        })*
    };
}

parameters! {
    id = segment("id", "The node's id.", ID_BYTES_MAX, "CUSTOMER~237");
    topic = segment("topic", "The topic.", TOPIC_BYTES_MAX, "Audit");
    version = {
        let description = "The revision's number, in digits without leading zeros. No revision has any other number.";
        let schema = json!({"type": "integer", "minimum": 1, "maximum": Version::MAX});
        json!({"in": "path", "name": "version", "required": true, "description": description, "schema": schema, "example": 3})
    };
    /// The `{id}` of `/operations/{id}`.
    operation = segment("id", "The operation's id.", ID_BYTES_MAX, "4f1f0a34-92c5-4a4f-a90b-0f6d6f1f5d52");
    root = segment("root", "The root's id.", ID_BYTES_MAX, "USA");
    path = segment("path",
        "The segments from below the root. This describes one; more follow, each after a `/`, which OpenAPI can't \
        express (`/paths/USA/NE/OMAHA`). A `/` within a segment is `~2F`.",
        SEGMENT_BYTES_MAX, "NE");
    ids = {
        let description = "The ids, each as a parameter of its own: `ids=CUSTOMER%237&ids=CUSTOMER%238`. No id comes twice. A URL with its \
            headers has at most 10,240 bytes.";
        let mut ids = several("ids", true, description, ID_BYTES_MAX, IDS_MAX);
        ids["schema"]["uniqueItems"] = true.into();
        ids
    };
    path_of_query = several("path", false,
        "The segments from below the root, each as a parameter of its own: `path=NE&path=OMAHA`.",
        SEGMENT_BYTES_MAX, DEPTH_MAX);
    expand = query("expand",
        "What else the answer has: `ancestors` (with their attributes if `fields` is given), `latest` (the newest revision of \
        each topic), or both with a comma between. Each is the first page of its list.",
        json!({"type": "string", "pattern": "^(?:ancestors|latest)(?:,(?:ancestors|latest))?$"}));
    conditions = {
        let description = "Conditions on attributes, up to 10, which an item must meet all: `where=kind:eq:folder`. The tests are eq, ne, lt, le, gt, ge (texts by \
            their bytes, numbers by their size), begins, contains (a part of a text, or an element of a set or a list), exists and missing (without a value). All rows are \
            read and paid for all the same, so a page can have few items, or none, and a `cursor`. Rows without room for attributes are shown (`truncated`).";
        let pattern = "^[^:]{1,255}:(?:(?:eq|ne|lt|le|gt|ge|begins|contains):[\\s\\S]*|exists|missing)$";
        let value = json!({"type": "string", "minLength": 1, "maxLength": 1_024, "pattern": pattern});
        let schema = json!({"type": "array", "items": value, "minItems": 1, "maxItems": 10});
        json!({
            "in": "query", "name": "where", "required": false, "description": description, "schema": schema, "style": "form", "explode": true,
        })
    };
    /// The `expand` of a list.
    expand_record = query("expand",
        "`record` adds to each item what its base record says beside the attributes: segment, who wrote it and when, and its entity \
        tag. The records are read besides: half a read unit per 4 KB of each. A page then has 100 items at most.",
        json!({"type": "string", "enum": ["record"]}));
    totals = query("totals",
        "True to add to each item how many nodes are below it, and what their numbers add up to, as `/nodes/{id}/totals` has it (`Totals`; 404 \
        without it): 2 read units an item. A page then has 100 items at most.",
        json!({"type": "boolean", "default": false}));
    consistent = query("consistent",
        "True for a strongly consistent read, at twice the read units. Derived rows can still lag behind their base \
        records: it doesn't promise that what was just written is shown. `written` does.",
        json!({"type": "boolean", "default": false}));
    written = several("written", false,
        "What the answer must show: the `Sapwood-Consistency-Token` of a write, whoever sent it. The read waits for it up to \
        `Prefer: wait`, and is refused (409, `not-up-to-date`) where the rows don't have it by then. Reads strongly, as with \
        `consistent=true`, which alone doesn't promise this. Give it once for each write, up to 10, and with the further pages, too.",
        WRITTEN_BYTES_MAX, WRITTEN_MAX);
    /// The `written` of a write that looks at rows.
    written_before = several("written", false,
        "Writes that the deletion must know of, by their `Sapwood-Consistency-Token`: a node that was created, moved, copied or restored below this one counts \
        as a child although its row is on its way. The deletion waits for the rows up to `Prefer: wait`, and is refused (409, `not-up-to-date`) where they \
        don't come by then. Up to 10. With `children` it waits for none.",
        WRITTEN_BYTES_MAX, WRITTEN_MAX);
    below = query("below",
        "True to see as well how far what is below the node is placed, after a move or a change of its segment: `below`. 1 read \
        unit per 4 KB of each node's lineage. One look takes 1,000 nodes at most, and stops at the first that isn't placed.",
        json!({"type": "boolean", "default": false}));
    cursor_of_below = query("cursor",
        "With `below`: the `cursor` of the look before. The next look goes on from there, so that all looks together read each node once.",
        json!({"type": "string", "minLength": 1}));
    fields = {
        let description = "The attributes in the answer, with commas between their names: up to 100, each of up to 255 bytes. \
            The default is all of them. A name with a comma can't be given.";
        let pattern = "^[^,]{1,255}(?:,[^,]{1,255}){0,99}$";
        query("fields", description, json!({"type": "string", "minLength": 1, "pattern": pattern}))
    };
    /// The attributes whose values are inherited.
    inherited_attributes = {
        let description = "The attributes, with commas between their names: up to 100 of your own, each of up to 255 bytes. `PK`, `SK`, `parent`, `segment` (or \
            what they are called here) and names that begin with `_` are refused (422). A name with a comma can't be given.";
        let pattern = "^[^,_][^,]{0,254}(?:,[^,_][^,]{0,254}){0,99}$";
        let mut attributes =
            query("attributes", description, json!({"type": "string", "minLength": 1, "pattern": pattern}));
        attributes["required"] = true.into();
        attributes["example"] = "owner,quota".into();
        attributes
    };
    mode = words("mode",
        "`nearest`: of each attribute the value of the nearest node that has it; a stored null ends the inheritance. `all`: all values, \
        from the root down.",
        &["nearest", "all"]);
    /// The attribute that grants.
    granting_attribute = {
        let description =
            "The attribute that names principals, one of your own (422 otherwise): a text, a set or a list of texts.";
        let schema = json!({"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[^_]"});
        let mut attribute = query("attribute", description, schema);
        attribute["required"] = true.into();
        attribute["example"] = "viewers".into();
        attribute
    };
    principals = {
        let description = "The principals, each as a parameter of its own: a user and the groups that the user's token names \
            (`principal=ada&principal=GROUP%23ops`). A URL with its headers has at most 10,240 bytes.";
        let mut principals = several("principal", true, description, ID_BYTES_MAX, PRINCIPALS_MAX);
        principals["example"] = json!(["ada", "GROUP#ops"]);
        principals
    };
    in_trash = query("in_trash",
        "True if grants count in the trash as well: for those who may look into it and restore. Without it nothing that is in the trash is \
        granted.",
        json!({"type": "boolean", "default": false}));
    /// The `below` of a list of links.
    around = text("below",
        "The id of a node. Only nodes at, above or below it are listed. The nodes above it are read for each page, 1 read unit per 4 KB of \
        each record and of its lineage; links elsewhere are read, and paid for, all the same.",
        ID_BYTES_MAX);
    limit = {
        let schema = json!({"type": "integer", "minimum": 1, "maximum": 1_000, "default": 100});
        query("limit", "The most items on a page. A page has at most 4 MB.", schema)
    };
    limit_of_changes = {
        let schema = json!({"type": "integer", "minimum": 1, "maximum": CHANGES_MAX, "default": CHANGES_MAX});
        query("limit", "The most entries on a page. A page has at most 2 MB.", schema)
    };
    cursor_of_changes = query("cursor",
        "The `cursor` of the page before. `now`: begin without the listing. Without it the tree is listed first.",
        json!({"type": "string", "minLength": 1}));
    prefer_changes = header("Prefer",
        "`wait=5` holds an answer without changes for up to 5 seconds (at most 10), and looks once a second. After a wait in vain the tree's \
        requests don't wait for 10 seconds. `numbers=strings` writes numbers that a double can't keep as `{\"$number\": \"…\"}`. \
        Other preferences are ignored.",
        FIELD_CONTENT, "wait=5");
    limit_of_operations = {
        let schema = json!({"type": "integer", "minimum": 1, "maximum": OPERATIONS_LISTED_MAX, "default": OPERATIONS_LISTED_DEFAULT});
        query("limit", "The most operations on a page.", schema)
    };
    status = {
        let schema = json!({"$ref": "#/components/schemas/OperationStatus"});
        query("status", "The operations that are this far. The default is all of them.", schema)
    };
    cursor = query("cursor",
        "The `cursor` of the page before. It is bound to this query, but not to `limit`.",
        json!({"type": "string", "minLength": 1}));
    min_depth = {
        let schema = json!({"type": "integer", "minimum": 0, "maximum": DEPTH_MAX, "default": 1});
        query("min_depth", "The first level; 0 is the node itself.", schema)
    };
    /// The `max_depth` that goes with `min_depth`.
    max_depth_of_window = last_level("The last level, not less than `min_depth`. The default is the deepest.");
    max_depth = last_level("How many levels below. The default is all of them.");
    id_prefix = text("id_prefix",
        "What the ids begin with, such as `ORDER#`. Needs one level: equal `min_depth` and `max_depth` of 1 or more.",
        ID_BYTES_MAX);
    attribute = segment("attribute", "The attribute that links.", 255, "product");
    /// The `id_prefix` of a list of links.
    id_prefix_of_links = text("id_prefix", "What the ids of the nodes that link begin with, such as `ITEM#`.", ID_BYTES_MAX);
    ancestors = query("ancestors",
        "True to have `ancestors` in each item: the ids of the node's ancestors, nearest first. The default is true with \
        `ancestor_prefix` and `distinct`, and false without them.",
        json!({"type": "boolean"}));
    ancestor_prefix = text("ancestor_prefix",
        "What the ids of ancestors begin with, such as `CUSTOMER#`. `ancestors` has those alone, and nodes without such an \
        ancestor are left out.",
        ID_BYTES_MAX);
    distinct = query("distinct",
        "`ancestor` names each ancestor once on a page, with the first node below it that links, and leaves out nodes that \
        name none. On the next page it can come again: unite them.",
        json!({"type": "string", "enum": ["ancestor"]}));
    /// The `order` of siblings. It has no default.
    order_of_siblings = query("order",
        "Siblings in the order of the deployment's attribute (`OrderAttribute`), forwards or backwards: numbers, then texts by their \
        bytes, then nodes without either; where values are equal by the next attribute, if there are several, and by id. Without it they come by id.",
        json!({"type": "string", "enum": ["asc", "desc"]}));
    /// The attributes that siblings are sorted by as they are read.
    order_by = {
        let description = "Siblings in the order of these attributes, up to four with commas between them, forwards without `order`. With `:caseless` after \
            a name the case of its texts doesn't count. If the deployment doesn't keep this order, each page reads all siblings: at most 5,000, and 20 MB of \
            their rows (400 if there are more).";
        let schema = json!({"type": "string", "minLength": 1, "examples": ["name:caseless"]});
        query("order_by", description, schema)
    };
    value_prefix = query("value_prefix",
        "With `order`: only the siblings whose text begins so, in the first attribute that orders them. At most 256 bytes, of which a space, a \
        control character and `!` to `%` take three; with several attributes less.",
        json!({"type": "string", "maxLength": 256}));
    first_value = query("from",
        "With `order`: the least value of the first attribute. It is included. Of a text the first 256 bytes count, with several attributes less.",
        json!({"type": "string"}));
    last_value = query("to", "With `order`: the greatest value. It is included.", json!({"type": "string"}));
    values = query("values",
        "With `order`: only the siblings whose value is a text, or a number. `from` and `to` are texts, if it isn't given.",
        json!({"type": "string", "enum": ["text", "number"]}));
    from = text("from",
        "The first of the next segments (for example the first zip code), in the order of their bytes. With it, \
        the nodes at the path itself are left out.",
        SEGMENT_BYTES_MAX);
    to = text("to", "The last of the next segments. It is included.", SEGMENT_BYTES_MAX);
    order = words(
        "order",
        "The order of the versions: the newest first (`desc`) or the oldest first (`asc`).",
        &["desc", "asc"],
    );
    topic_prefix = text("topic_prefix", "What the topics begin with, such as `Audit#`.", TOPIC_BYTES_MAX);
    /// The order of what was put into the trash.
    order_of_trash = words("order", "What was put into the trash last comes first (`desc`), or last (`asc`).", &["desc", "asc"]);
    children = words_of("children",
        "What happens to the node's children: with `restrict` the node isn't deleted if it has any, with `delete` they \
        are deleted with all their descendants, with `adopt` they move to its parent, with `detach` they become roots.",
        "Children", "restrict");
    revisions = words_of("revisions", "What happens to the node's revisions.", "Revisions", "keep");
    if_match = header("If-Match",
        "The entity tag of what exists must be this one. `*`: something must exist.",
        ENTITY_TAGS, AN_ENTITY_TAG);
    /// The `If-None-Match` of a write.
    if_none_match = header("If-None-Match",
        "The entity tag of what exists must be none of these. `*`: nothing may exist.",
        ENTITY_TAGS, "*");
    /// The `If-Match` of an append.
    if_newest = header("If-Match",
        "The entity tag of the topic's newest revision must be this one. `*`: there must be one. Costs a read of it, and the write \
        units of a transaction.",
        ENTITY_TAGS, AN_ENTITY_TAG);
    /// The `If-None-Match` of an append.
    if_none_newest = header("If-None-Match",
        "The entity tag of the topic's newest revision must be none of these. `*`: there must be no revision.",
        ENTITY_TAGS, "*");
    /// The `If-None-Match` of a read.
    known = header("If-None-Match",
        "Known entity tags. The answer is 304 if the current one is among them.",
        ENTITY_TAGS, AN_ENTITY_TAG);
    prefer = header("Prefer",
        "`wait=5` holds the answer for up to 5 seconds (at most 10), until the derived rows of the write are up to \
        date, and until the stream has carried a deletion out; with `below=true` until all that is below a moved node is placed. The answer is 202 if that takes longer, or 204 where something was deleted at once. `return=minimal` leaves what was written out of the answer: 204 takes the place \
        of 200 and 201. `numbers=strings` writes numbers that a double can't keep as `{\"$number\": \"…\"}`. Other \
        preferences are ignored.",
        FIELD_CONTENT, "wait=5");
    /// The `Prefer` of a read.
    prefer_read = header("Prefer",
        "`wait=5` waits up to 5 seconds (at most 10) for what `written` names. `numbers=strings` writes numbers that a double can't keep \
        (more than 15 to 17 digits) as `{\"$number\": \"…\"}`. Other preferences are ignored.",
        FIELD_CONTENT, "numbers=strings");
    /// The key of a write that can be repeated, but for a revision that is appended with the node.
    idempotency_key_of_revision = {
        let mut parameter = idempotency_key();
        let description = "As in `POST /nodes`. It counts for a request with a `revision`, which would be appended twice. Without one the method is idempotent, \
            and the key isn't kept.";
        parameter["description"] = description.into();
        parameter
    };
    idempotency_key = {
        let description = "The client's own name for this request, of 1 to 255 visible ASCII characters, in quotes or not. For 24 hours \
            the same key and body give the same answer. Another body is answered with 422, and a request that is still \
            running with 409.";
        let pattern = r#"^(?:[!#-~][!-~]{0,254}|"(?:[!#-\[\]-~]|\\["\\]){1,255}")$"#;
        header("Idempotency-Key", description, pattern, "8e03978e-40d5-43dd-bc93-6894a57f9324")
    };
}

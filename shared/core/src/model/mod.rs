//! The things that the table holds, and how each is written as an item.

mod copying;
mod cursor;
mod decimal;
mod deletion;
mod encoding;
mod epoch;
mod etag;
mod feed;
mod folding;
mod format;
mod handler_settings;
mod item;
mod json_size;
mod latest;
mod lineage;
mod names;
mod node;
mod reserved;
mod row;
mod settings;
mod shortfall;
mod stale_under;
#[cfg(test)]
mod tests;
mod totals;
mod trash;
mod unique_names;
mod variables;
mod wire;

pub use copying::{
    COPIED, COPY_OF, COPYING, CopyEnd, CopyMark, CopyOf, ENDED, LEFT_OUT, RENAMED, names_unplaced, times,
};
pub use cursor::{Cursor, CursorError, CursorUse, REDRIVEN, padded};
pub use decimal::Decimal;
pub use deletion::{Deletion, Heir, Tombstone};
pub(crate) use encoding::{decode as decode_item, encode as encode_item};
pub use epoch::Epoch;
pub use etag::ETag;
pub use feed::{
    ANSWERED_WITHIN_MS, BEHIND_MS, CLOCKS_APART_MS, CURSOR_MS_MAX, ENTRY_SECONDS, Entry, FeedName, tree_of,
};
pub use format::{
    FORMAT, FORMAT_ATTRIBUTE, FORMAT_MAX, FORMAT_WITH_LEFT, FORMAT_WITH_MORE_ROWS, FORMAT_WITH_PARTS,
    FORMAT_WITH_TRASH, NewerFormat,
};
pub use handler_settings::Announcement;
pub(crate) use item::ancestor_in;
pub use item::{
    AttributeValue, ITEM_BYTES_MAX, Item, item_bytes, key_of, number, sort_sets, text, text_of, whole_of, with_key,
};
pub use json_size::{JSON_BYTES_MAX, PLAIN_NUMBER_BYTES_MAX, json_bytes, size_estimate, text_size};
pub use latest::{Latest, VERSION};
pub use lineage::{Lineage, Placement, Stored};
pub use names::{NameClaim, held_name, holds_name};
pub use node::{
    BaseNode, TOUCHED, Unreadable, has_mark, has_unreadable_mark, is_touch, is_undelete, shows_no_mark, touch_value,
};
pub use reserved::{
    BORN, CREATED_AT, CREATED_BY, DELETING, DeletionMark, DeletionMode, EXPIRES, PUT_BACK, REVISION, UNDER, UPDATED_AT,
    UPDATED_BY, Under, WRITE, WRITE_BEFORE, is_reserved, is_same_life, life_of,
};
pub use row::{
    ID as ROW_ID, LINKS_MAX, LinkFault, ORPHAN_ROW, PlacementInput, ROW_ATTRIBUTES, Row, Shown, TARGETS_BYTES_MAX,
    check_links, is_row_key, is_truncated, orphan_row_parent, own_ancestors, own_id, own_order, placement_below,
    row_parent, rows, shown_by,
};
pub use settings::{Copied, OrderAttribute, Settings, SiblingOrder};
pub use shortfall::Shortfall;
pub use stale_under::{LifeUnder, PutBy, times_written, times_written_next};
pub use totals::{Amounts, Counted, Share, TOTALS_ATTRIBUTES_MAX, Totals};
pub use trash::{InTrash, TRASHED, Trashed};
pub use unique_names::{UniqueNames, ending, numbered};
pub use variables::VariableError;
pub use wire::{answered_bytes, sent_bytes, shortest};

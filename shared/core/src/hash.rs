//! FNV-1a of 64 bits: a hash that is the same in each release and on each machine.

/// The hash of nothing.
pub(crate) const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues a hash with more bytes.
pub(crate) fn continued(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

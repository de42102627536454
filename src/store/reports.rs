//! Reports of maintenance: verification, inspection, transfer, rebuild.

/// The result of [`super::Store::verify`].
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct VerifyReport {
    /// Number of nodes whose hash was recomputed.
    pub nodes: u64,
    /// Number of trees whose counts were recomputed.
    pub trees: u64,
    /// Number of journal entries read.
    pub entries: u64,
    /// Problems, one sentence each, naming the node or tree. Empty if the file is intact.
    pub problems: Vec<String>,
}

/// The result of [`super::OpenOptions::inspect`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// The file's schema version; 0 for an empty file.
    pub schema: u32,
    /// The schema version that this build writes.
    pub supported: u32,
    /// Number of journal entries.
    pub entries: u64,
    /// The problems of the file's structure and its journal, one sentence each.
    pub problems: Vec<String>,
}

/// The result of [`super::OpenOptions::transfer`].
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct CopyReport {
    /// Rows that were copied by this call.
    pub rows: u64,
    /// Differences between both databases afterwards, at most ten. Empty if the copy is whole.
    pub differences: Vec<String>,
}

/// The result of [`super::Store::rebuild`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct RebuildReport {
    /// Nodes whose counts were corrected.
    pub nodes: u64,
    /// Trees whose counts were corrected.
    pub trees: u64,
    /// Nodes that were indexed again: all of them.
    pub indexed: u64,
    /// Sessions whose stored state was damaged or differed from the archive, and was replaced.
    pub registers: u64,
}

//! Statements of the table `estimates`: sums of estimated and reported token counts for each model.

use rusqlite::{Connection, OptionalExtension, params};

use crate::{store::Result, tokens::TokenCalibration};

/// Estimated tokens above which a model's sums are halved before more are added, so that recent prompts weigh most.
pub(in crate::store) const HALVING_TOKENS: i64 = 400_000;
/// Maximum ratio of reported to estimated tokens; a higher report would distort the sums for long.
pub(in crate::store) const MAX_RATIO: u64 = 4;

/// Adds the estimated and the reported count of a prompt.
pub(in crate::store::sqlite) fn add(conn: &Connection, model: &str, estimated: u64, reported: u64) -> Result<()> {
    let estimated = estimated.min(HALVING_TOKENS.unsigned_abs());
    let reported = reported.min(estimated * MAX_RATIO);
    if estimated == 0 || reported == 0 {
        return Ok(());
    }
    conn.prepare_cached(
        "INSERT INTO estimates (model, estimated, reported) VALUES (?1, ?2, ?3)
         ON CONFLICT (model) DO UPDATE SET
             estimated = CASE WHEN estimated > ?4 THEN estimated / 2 ELSE estimated END + ?2,
             reported = CASE WHEN estimated > ?4 THEN reported / 2 ELSE reported END + ?3",
    )?
    .execute(params![model, estimated, reported, HALVING_TOKENS])?;
    Ok(())
}

/// The calibration of a model's estimates; `None` if too few tokens were recorded.
pub(in crate::store::sqlite) fn correction(conn: &Connection, model: &str) -> Result<Option<TokenCalibration>> {
    let sums = conn
        .prepare_cached("SELECT estimated, reported FROM estimates WHERE model = ?1")?
        .query_row([model], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(sums.and_then(|(estimated, reported)| TokenCalibration::of(estimated, reported)))
}

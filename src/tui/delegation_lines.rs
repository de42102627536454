//! Formats progress of delegations as lines of a column.

use crate::{delegate::DelegationUpdate, types::one_line};

/// Formats an update as a line. `None`: too minor to show.
pub(crate) fn line(update: &DelegationUpdate) -> Option<String> {
    Some(match update {
        DelegationUpdate::Planning { delegation, .. } => format!("{delegation}  planning…"),
        DelegationUpdate::Planned { delegation, subtasks } => {
            let many = if subtasks.len() == 1 { "subtask" } else { "subtasks" };
            format!("{delegation}  planned: {} {many}", subtasks.len())
        }
        DelegationUpdate::Started { task, title, attempt, branch, .. } => {
            let again = if *attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
            format!("[>] {} {}{again}  {branch}", task + 1, one_line(title))
        }
        DelegationUpdate::Verdict { task, title, passed: true, .. } => format!("[x] {} {}", task + 1, one_line(title)),
        DelegationUpdate::Verdict { task, title, why, .. } => {
            format!("[!] {} {}: {}", task + 1, one_line(title), one_line(why))
        }
        DelegationUpdate::Skipped { task, title, needs } => {
            format!("[-] {} {}: it needs {}", task + 1, one_line(title), one_line(needs))
        }
        DelegationUpdate::Ended { delegation, report, .. } => {
            format!("{delegation}  {}", one_line(report.lines().next().unwrap_or_default()))
        }
        _ => return None,
    })
}

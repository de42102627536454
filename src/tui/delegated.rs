//! What is heard of delegated work, as lines of a column.

use crate::{delegate::Told, model::one_line};

/// What happens in delegated work, as a line; nothing for what is too small.
pub(crate) fn line(told: &Told) -> Option<String> {
    Some(match told {
        Told::Planning { delegation, .. } => format!("{delegation}  is planned…"),
        Told::Planned { delegation, subtasks } => {
            let many = if subtasks.len() == 1 { "subtask" } else { "subtasks" };
            format!("{delegation}  planned: {} {many}", subtasks.len())
        }
        Told::Started { task, title, attempt, branch, .. } => {
            let again = if *attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
            format!("[>] {} {}{again}  {branch}", task + 1, one_line(title))
        }
        Told::Verdict { task, title, passed: true, .. } => format!("[x] {} {}", task + 1, one_line(title)),
        Told::Verdict { task, title, why, .. } => format!("[!] {} {}: {}", task + 1, one_line(title), one_line(why)),
        Told::Skipped { task, title, needs } => {
            format!("[-] {} {}: it needs {}", task + 1, one_line(title), one_line(needs))
        }
        _ => return None,
    })
}

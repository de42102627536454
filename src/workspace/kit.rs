//! The folder as what those have who do delegated work: each with hands of its own.

use super::Workspace;
use crate::{arrow::run::Extra, delegate::Kit, session::Handler};

impl Kit for Workspace {
    fn tools(&self, who: &str) -> Vec<(Extra, Handler)> {
        Workspace::tools(self, who)
    }

    fn changed(&self, who: &[String]) -> Vec<String> {
        let changed = Workspace::changed(self).into_iter().filter(|changed| who.contains(&changed.by));
        let said = |created: bool| if created { "created" } else { "modified" };
        changed.map(|changed| format!("{} ({})", changed.path.display(), said(changed.created))).collect()
    }
}

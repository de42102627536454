//! Workspace as the tools of delegation workers: each worker has its own view, and checks are commands.

use tokio_util::sync::CancellationToken;

use super::tools::Workspace;
use crate::{
    delegate::{CheckResult, WorkerTools},
    session::ToolHandler,
    tools::{ErrorCode, HostTool, ToolError},
};
use futures_util::future::BoxFuture;

impl WorkerTools for Workspace {
    fn tools(&self, who: &str) -> Vec<(HostTool, ToolHandler)> {
        Workspace::tools(self, who)
    }

    fn checks(&self) -> bool {
        true
    }

    fn check<'a>(
        &'a self,
        command: &'a str,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<CheckResult, ToolError>> {
        let files = self.agent_files("a check");
        Box::pin(async move {
            let ran = tokio::select! {
                // Dropping the future stops the command.
                ran = files.run(command.to_owned(), None) => ran?,
                () = cancel.cancelled() => return Err(ToolError::new(ErrorCode::Cancelled, "it was stopped")),
            };
            Ok(CheckResult { passed: ran.code == Some(0), output: ran.text })
        })
    }

    fn changed(&self, who: &[String]) -> Vec<String> {
        let changed = Workspace::changed(self).into_iter().filter(|changed| who.contains(&changed.by));
        let kind = |created: bool| if created { "created" } else { "modified" };
        changed.map(|changed| format!("{} ({})", changed.path.display(), kind(changed.created))).collect()
    }
}

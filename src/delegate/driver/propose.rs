//! A plan, and whether the person agrees to it.

use std::sync::Arc;

use super::{
    super::{Plan, Rules, words},
    Driver, Effect, Event,
};
use crate::{
    arrow::run::{Code, Failure},
    provider::ProviderError,
    session::{Asking, GenerateError, Interview},
};

impl Driver {
    /// The plan that was made, if there is one that holds.
    pub(super) fn planned(&self) -> Option<Plan> {
        let made = |event: &Event| if let Event::Planned { node } = event { Some(*node) } else { None };
        let node = self.loom.node(self.events.iter().rev().find_map(made)?).ok()?;
        Plan::read(&node.content, &self.rules(&self.names())).ok()
    }

    fn names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    fn rules<'a>(&self, tools: &'a [String]) -> Rules<'a> {
        Rules { tools, checks: self.crew.kit.checks(), most: self.crew.subtasks }
    }

    /// Has a plan made; one that does not hold is sent back once.
    pub(super) async fn plan(&mut self) -> Result<Plan, Failure> {
        let names = self.names();
        let (system, asked) = words::planning(&self.task, &self.tools, self.crew.kit.checks());
        let planner = (self.crew.planner.agent.clone(), Arc::clone(&self.crew.planner.model));
        let prices = self.crew.prices.clone();
        let mut interview = Interview::new(self.actor.clone(), planner, prices, self.head.id, &system);
        let mut node = interview.ask(&asked, &self.work.cancel).await.map_err(|error| self.unplanned(&error))?;
        let mut read = Plan::read(&node.content, &self.rules(&names));
        if let Err(error) = &read {
            let repair = words::repair(error);
            node = interview.ask(&repair, &self.work.cancel).await.map_err(|error| self.unplanned(&error))?;
            read = Plan::read(&node.content, &self.rules(&names));
        }
        let plan = read.map_err(|error| {
            let failure =
                Failure::new(Code::ModelError, format!("no plan that holds, also at the second try: {error}"));
            failure.hint(format!("loom delegate --resume {} plans anew", self.head.local))
        })?;
        self.happened(Event::Planned { node: node.id }).await?;
        Ok(plan)
    }

    fn unplanned(&self, error: &GenerateError) -> Failure {
        let code = match error {
            GenerateError::Provider(ProviderError::Cancelled) => Code::Cancelled,
            _ => Code::ModelError,
        };
        let failure = Failure::new(code, format!("no plan was made: {error}"));
        failure.hint(format!("loom delegate --resume {} plans anew", self.head.local))
    }

    /// Asks the person whether this is what they want.
    pub(super) async fn approve(&mut self) -> Result<Vec<Effect>, Failure> {
        let Some(machine) = &self.machine else { return Ok(Vec::new()) };
        let mut detail = format!("{}\n\n{}", self.task.head(), machine.plan());
        let mut shared: Vec<&String> = self.shared.values().flatten().collect();
        shared.sort_unstable();
        shared.dedup();
        for shared in shared {
            detail.push_str(&format!("\n\nTake care: {shared}"));
        }
        let asking = Asking {
            tool: "delegate".to_owned(),
            // Another plan for the same goal is another question.
            subject: String::new(),
            what: format!("{} subtasks: {}", machine.plan().subtasks().len(), self.task.goal),
            detail,
        };
        let verdict = tokio::select! {
            verdict = self.crew.approval.ask(&asking) => verdict,
            () = self.work.cancel.cancelled() => return Err(Failure::new(Code::Cancelled, "somebody stopped it")),
        };
        match verdict.granted() {
            Ok(()) => self.happened(Event::Approved).await,
            Err(refused) => {
                self.happened(Event::Refused).await?;
                Err(refused)
            }
        }
    }
}

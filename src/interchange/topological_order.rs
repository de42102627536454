//! Order of messages that a source stores as a set: parents before children, and otherwise by time.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use super::{
    Importer, InterchangeError,
    source_record::{SourceMessage, SourceParent, SourcePlace},
};
use crate::types::Timestamp;

/// Imports the messages of a conversation. A message in a circle of parents begins the conversation anew.
pub(super) fn write(
    importer: &mut Importer<'_>,
    place: SourcePlace,
    mut messages: Vec<SourceMessage>,
) -> Result<(), InterchangeError> {
    let places: HashMap<&str, usize> =
        messages.iter().enumerate().map(|(index, message)| (message.id.as_str(), index)).collect();
    let parent_of = |message: &SourceMessage| match &message.parent {
        SourceParent::Message(parent) => places.get(parent.as_str()).copied(),
        _ => None,
    };
    let parents: Vec<Option<usize>> = messages.iter().map(parent_of).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); messages.len()];
    for (index, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            children[*parent].push(index);
        }
    }
    let times: Vec<Option<Timestamp>> = messages.iter().map(|message| message.at).collect();
    let mut is_placed = vec![false; messages.len()];
    let mut order = Vec::with_capacity(messages.len());
    let mut cut = Vec::new();
    let mut ready: BinaryHeap<Reverse<(Option<Timestamp>, usize)>> = BinaryHeap::new();
    ready.extend(
        (0..messages.len()).filter(|index| parents[*index].is_none()).map(|index| Reverse((times[index], index))),
    );
    let mut next_unplaced = 0;
    loop {
        while let Some(Reverse((at, index))) = ready.pop() {
            if std::mem::replace(&mut is_placed[index], true) {
                continue;
            }
            order.push(index);
            // A message without a time is as old as its parent.
            ready.extend(children[index].iter().map(|child| Reverse((times[*child].max(at), *child))));
        }
        while next_unplaced < messages.len() && is_placed[next_unplaced] {
            next_unplaced += 1;
        }
        if next_unplaced == messages.len() {
            break;
        }
        cut.push(next_unplaced);
        ready.push(Reverse((times[next_unplaced], next_unplaced)));
    }
    for index in cut {
        importer.problem(
            place,
            format!("message {:?} is among its own ancestors; it hangs on the root", messages[index].id),
        );
        messages[index].parent = SourceParent::Root;
    }
    for index in order {
        importer.message(place, std::mem::take(&mut messages[index]))?;
    }
    Ok(())
}

//! What others write while one looks.

use loomtree::{model::Parent, ops::Draft};

use crate::stage::Stage;

#[test]
fn what_another_process_writes_shows_and_the_cursor_stays() {
    let mut stage = Stage::new();
    let at = stage.at();
    // Another handle on the same file: another process, as far as the store can tell.
    let other = stage.play.scene.owner();
    other.append(Parent::Node(stage.play.nine), Draft::text("From elsewhere.")).unwrap();
    for _ in 0..400 {
        stage.settle();
        if stage.screen().contains("From elsewhere.") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    stage.shows("From elsewhere.");
    assert_eq!(stage.at(), at);
}

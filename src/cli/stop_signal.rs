//! The stop of the server: the signal for it, and the time that it may take.

use std::{
    io::{self, Write as _},
    time::Duration,
};

/// Waits for Ctrl-C, or for the signal by which service managers stop a program.
pub(super) async fn stop_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

/// Maximum time from the signal to the end of the program. Requests and delegations that end have less.
const MAX_STOP_TIME: Duration = Duration::from_secs(25);

/// Ends the program if the stop takes too long: a read of a database that does not answer has no end.
pub(super) fn end_at_the_latest() {
    std::thread::spawn(|| {
        std::thread::sleep(MAX_STOP_TIME);
        let _ = writeln!(io::stderr(), "loom: the server did not stop in time and ends; the database may not answer");
        std::process::exit(1);
    });
}

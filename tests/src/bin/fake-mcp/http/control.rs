//! Orders to a running server: one a line in a POST to `/control`, answered `done`.

use std::{io, sync::PoisonError};

use super::{
    Host,
    fault::{Fault, Then},
    wire::{Connection, Request},
};
use crate::script::Action;

/// Does all of them, or says which word makes no sense.
pub(super) fn obey(host: &Host, request: &Request, connection: &mut Connection) -> io::Result<Then> {
    let orders = String::from_utf8_lossy(&request.body).into_owned();
    match orders.lines().try_for_each(|order| one(host, order)) {
        Ok(()) => connection.status(200, &[], "done"),
        Err(problem) => connection.status(400, &[], &problem),
    }
}

fn one(host: &Host, order: &str) -> Result<(), String> {
    let (word, rest) = order.split_once(' ').unwrap_or((order, ""));
    match word {
        // `fault post:tools/call status 500`
        "fault" => {
            let (when, answer) = rest.split_once(' ').ok_or("fault WHEN ANSWER")?;
            let fault = Fault::parse(when, answer)?;
            host.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
        }
        "mend" => host.faults.lock().unwrap_or_else(PoisonError::into_inner).clear(),
        "forget" => host.sessions.all().iter().for_each(|session| host.sessions.close(&session.id)),
        "end-streams" => host.sessions.all().iter().for_each(|session| session.end_stream()),
        _ => {
            let action = Action::parse(order)?;
            host.sessions.all().iter().for_each(|session| action.perform(&session.out));
        }
    }
    Ok(())
}

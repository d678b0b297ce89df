//! Runs a reader for every shard whose parent has ended.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::stream::From;
use crate::template::StartingPosition;

use super::Function;
use super::context::Context;
use super::position;
use super::reader::Reader;

/// Runs the mapping until it is stopped, and saves its position.
pub(super) async fn run<F: Function>(context: Arc<Context<F>>, is_resumed: bool) {
    let saving = tokio::spawn(save_regularly(Arc::clone(&context)));
    read_shards(&context, is_resumed).await;
    // The task ends by itself. It is awaited so that it can't overwrite the last position.
    let _ = saving.await;
    save(&context, 0).await;
    context.progress.stopped();
}

async fn read_shards<F: Function>(context: &Arc<Context<F>>, is_resumed: bool) {
    let pace = context.settings.pace;
    let mut readers = JoinSet::new();
    let mut is_first_look = !is_resumed;
    let mut failures_in_a_row = 0;
    while !context.is_stopped() {
        let began = context.progress.tick();
        match context.stream.shards().await {
            Ok(shards) => {
                failures_in_a_row = 0;
                for (shard, after) in context.progress.look(&shards, began) {
                    let from = match (after, context.settings.source.starting_position) {
                        (Some(number), _) => From::After(number),
                        (None, StartingPosition::Latest) if is_first_look => From::Now,
                        (None, _) => From::Oldest,
                    };
                    readers.spawn(Reader::new(Arc::clone(context), &shard, from).run());
                }
                is_first_look = false;
            }
            Err(error) => {
                failures_in_a_row += 1;
                context.trouble(format!("the stream's shards can't be listed: {error}"));
                if context.pause(pace.backoff(failures_in_a_row)).await.is_none() {
                    break;
                }
                continue;
            }
        }
        tokio::select! {
            // A shard has ended, so its children can be read.
            Some(_) = readers.join_next() => {}
            _ = context.pause(pace.look_for_shards_every) => {}
        }
    }
    while readers.join_next().await.is_some() {}
}

async fn save_regularly<F: Function>(context: Arc<Context<F>>) {
    let pace = context.settings.pace;
    let mut saved = 0;
    let mut failures_in_a_row = 0;
    while context.pause(pace.save_every.max(pace.backoff(failures_in_a_row))).await.is_some() {
        match save(&context, saved).await {
            Some(moves) => (saved, failures_in_a_row) = (moves, 0),
            None => failures_in_a_row += 1,
        }
    }
}

/// Saves the position if it has changed since the change `saved`. Returns the saved one; `None` if it failed.
async fn save<F: Function>(context: &Arc<Context<F>>, saved: u64) -> Option<u64> {
    let (position, moves) = context.progress.position(&context.stream.arn);
    let Some(path) = context.settings.position_file.clone().filter(|_| moves != saved) else { return Some(saved) };
    let result = tokio::task::spawn_blocking(move || position::save(&path, &position)).await;
    match result.map_err(std::io::Error::other).flatten() {
        Ok(()) => Some(moves),
        Err(error) => {
            context.trouble(format!("the position could not be saved: {error}"));
            None
        }
    }
}

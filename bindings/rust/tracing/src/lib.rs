//! Measure spans of the `tracing` crate as zones:
//!
//! ```ignore
//! use tracing_subscriber::prelude::*;
//! tracing_subscriber::registry().with(fathom_tracing::Layer).init();
//! ```
//!
//! A span is measured each time it is entered, on the thread that enters it.  Zones nest: leaving
//! a span also ends the spans entered after it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Mutex;

use tracing::span;
use tracing_subscriber::layer::Context;

pub struct Layer;

thread_local! {
    static OPEN: RefCell<Vec<(u64, fathom::Zone)>> = const { RefCell::new(Vec::new()) };
}

/// The site of a span: one for each place that creates spans.  Sites are never freed.
fn site(meta: &'static tracing::Metadata<'static>) -> &'static fathom::Site {
    static KNOWN: Mutex<Option<HashMap<usize, &'static fathom::Site>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(|e| e.into_inner());
    known.get_or_insert_with(HashMap::new).entry(meta as *const _ as usize).or_insert_with(|| {
        Box::leak(Box::new(fathom::Site::new(
            meta.name(),
            meta.file().unwrap_or(""),
            meta.line().unwrap_or(0),
            fathom::Kind::Zone,
        )))
    })
}

impl<S> tracing_subscriber::Layer<S> for Layer
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    fn on_enter(&self, id: &span::Id, ctx: Context<'_, S>) {
        if let Some(span) = ctx.span(id) {
            let zone = site(span.metadata()).begin();
            OPEN.with(|open| open.borrow_mut().push((id.into_u64(), zone)));
        }
    }

    fn on_exit(&self, id: &span::Id, _ctx: Context<'_, S>) {
        OPEN.with(|open| {
            let mut open = open.borrow_mut();
            if let Some(at) = open.iter().rposition(|(known, _)| *known == id.into_u64()) {
                while open.len() > at {
                    open.pop(); // innermost first
                }
            }
        });
    }
}

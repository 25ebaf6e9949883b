//! A single test, because the library has one state per process.

use tracing_subscriber::prelude::*;

#[test]
fn spans_become_zones() {
    assert!(fathom::enable());
    let subscriber = tracing_subscriber::registry().with(fathom_tracing::Layer);
    let _for_now = subscriber.set_default();
    for _ in 0..5 {
        let outer = tracing::span!(tracing::Level::INFO, "outer");
        let _in_outer = outer.enter();
        for _ in 0..3 {
            tracing::span!(tracing::Level::INFO, "inner").in_scope(|| ());
        }
    }
    let csv = fathom::report(fathom::Format::Csv);
    let has = |path: &str, count: &str| {
        csv.lines().any(|l| {
            let cells: Vec<&str> = l.split(',').collect();
            cells.len() > 7 && cells[0] == path && cells[6] == count
        })
    };
    assert!(has("outer", "5"), "{csv}");
    assert!(has("outer/inner", "15"), "{csv}");
}

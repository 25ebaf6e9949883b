//! A single test, because the library has one state per process.

fn leaf() {
    fathom::zone!("leaf");
}

#[test]
fn zones_operations_and_counters_arrive() {
    leaf();
    assert!(fathom::enable());
    for i in 0..10 {
        fathom::zone!("outer");
        leaf();
        let mut op = fathom::op!("sort", 100, "cpu");
        op.set_bytes(200);
        drop(op);
        fathom::count!("items", 2);
        fathom::gauge!("depth", i);
    }
    let csv = fathom::report(fathom::Format::Csv);
    let has = |path: &str, count: &str| {
        csv.lines().any(|l| {
            let cells: Vec<&str> = l.split(',').collect();
            cells.len() > 7 && cells[0] == path && cells[6] == count
        })
    };
    assert!(has("outer", "10"), "{csv}");
    assert!(has("outer/leaf", "10"), "{csv}");
    assert!(has("outer/sort", "10"), "{csv}");
    assert!(has("items", "10"), "{csv}");
    assert!(fathom::report(fathom::Format::Table).contains("sort"));
    fathom::disable();
    leaf();
    assert!(!fathom::report(fathom::Format::Csv).lines().any(|l| l.starts_with("leaf,")));
    assert!(fathom::now_ns() > 0);
}

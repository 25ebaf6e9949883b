/* rt_rules_text.c - what each rule advises: why, and a change before and after in the language
 * the measured place is written in (told by its file's name).  A language without a text of its
 * own gets C's.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_rules.h"

#include <string.h>

#define CHANGE(before, after) "before:\n    " before "\nafter:\n    " after
#define NEXT                  "\n    "

static const struct rt_rule_text texts[] = {
    { "share",
      "Most of the time goes here, so this is where a change can show. Look inside: mark its "
      "parts, or record it with fathom record and read annotate.",
      { CHANGE("FATHOM_ZONE(\"step\");  ...all of it...",
               "FATHOM_ZONE_V(z, \"step: read\");  ..." NEXT
               "FATHOM_LAP(z, \"step: compute\");  ..."),
        NULL,
        CHANGE("fathom::zone!(\"step\");  // all of it",
               "{ fathom::zone!(\"step: read\"); read(); }" NEXT
               "{ fathom::zone!(\"step: compute\"); compute(); }") } },
    { "batch",
      "Every call pays a cost that does not depend on its size. Gather the inputs and make one "
      "call for all of them.",
      { CHANGE("for (i = 0; i < n; i++) op(&item[i], 1);", "op(item, n);"),
        CHANGE("for (auto &x : items) op(&x, 1);", "op(items.data(), items.size());"),
        CHANGE("for x in &items { op(std::slice::from_ref(x)); }", "op(&items);"),
        CHANGE("for x in items: op([x])", "op(items)") } },
    { "tiny-zone",
      "Measuring takes a part of the time shown. Time one call in 64: all are still counted, and "
      "the totals are scaled.",
      { CHANGE("FATHOM_ZONE(\"hash\");", "FATHOM_ZONE_N(\"hash\", 64);") } },
    { "tail",
      "A few calls wait or do more than the rest: a lock, a page fault, a full queue, a rare "
      "branch. Trace it and look at the long ones.",
      { CHANGE("FATHOM_PROFILE=1 ./app",
               "FATHOM_PROFILE=trace:app.fathom ./app && fathom view app.fathom"),
        NULL, NULL,
        CHANGE("FATHOM_PROFILE=1 python3 app.py",
               "FATHOM_PROFILE=trace:app.fathom python3 app.py && fathom view app.fathom") } },
    { "bimodal",
      "Two different things share one name: a hit and a miss, a small and a large input, two code "
      "paths. Name them apart to see which.",
      { CHANGE("FATHOM_ZONE(\"lookup\");", "FATHOM_ZONE_V(z, \"lookup: hit\");" NEXT
                                           "if (!found) FATHOM_LAP(z, \"lookup: miss\");"),
        NULL,
        CHANGE("fathom::zone!(\"lookup\");", "if hit { fathom::zone!(\"lookup: hit\"); ... }" NEXT
                                             "else { fathom::zone!(\"lookup: miss\"); ... }") } },
    { "first-call",
      "Something is set up at first use: a table, a file, a connection, pages touched for the "
      "first time. Do it at the start, or leave it out of the figures.",
      { CHANGE("serve();", "warm_up();" NEXT "fathom_clear();" NEXT "serve();"), NULL,
        CHANGE("serve();", "warm_up();" NEXT "fathom::clear();" NEXT "serve();") } },
    { "repeat-work",
      "The same input comes back soon. Keep the last results.",
      { CHANGE("y = f(x);", "y = cache_find(x);" NEXT "if (!y) cache_add(x, y = f(x));"),
        CHANGE("auto y = f(x);",
               "auto [it, fresh] = cache.try_emplace(x);" NEXT "if (fresh) it->second = f(x);"),
        CHANGE("let y = f(&x);", "let y = cache.entry(x).or_insert_with_key(f);"),
        CHANGE("def f(x): ...", "@functools.lru_cache(maxsize=128)" NEXT "def f(x): ...") } },
    { "growth",
      "A nested loop or a copy per step hides here. Index, sort once, or grow buffers by a factor.",
      { CHANGE("for (i..n) for (j..n) if (a[i] == b[j]) ...",
               "build_index(b); for (i..n) find(a[i]);"),
        CHANGE("for (auto &x : a) if (std::find(b.begin(), b.end(), x) != b.end()) ...",
               "std::unordered_set<T> in_b(b.begin(), b.end());" NEXT
               "for (auto &x : a) if (in_b.count(x)) ..."),
        CHANGE("for x in &a { if b.contains(x) { ... } }",
               "let in_b: HashSet<_> = b.iter().collect();" NEXT
               "for x in &a { if in_b.contains(x) { ... } }"),
        CHANGE("[x for x in a if x in b]  # b is a list",
               "in_b = set(b)" NEXT "[x for x in a if x in in_b]") } },
    { "backend",
      "The same operation was measured on both at sizes like these.",
      { CHANGE("run(op, BACKEND_A);", "run(op, n > LIMIT ? BACKEND_B : BACKEND_A);"), NULL,
        CHANGE("run(op, Backend::A);", "run(op, if n > LIMIT { Backend::B } else { Backend::A });"),
        CHANGE("run(op, \"a\")", "run(op, \"b\" if n > LIMIT else \"a\")") } },
    { "imbalance",
      "The others wait for the busiest. Hand out smaller pieces, or take them from one queue.",
      { CHANGE("part = n / threads;", "while ((i = atomic_fetch_add(&next, 1)) < pieces) work(i);"),
        CHANGE("auto part = n / threads;", "for (int i; (i = next++) < pieces;) work(i);"),
        CHANGE("items.chunks(n / threads)",
               "items.par_iter()  // rayon: work is taken as it is done"),
        CHANGE("pool.map(work, items, chunksize=n // workers)",
               "pool.imap_unordered(work, items, chunksize=16)") } },
    { "alloc",
      "Allocate once before the loop and reuse.",
      { CHANGE("for (...) { p = malloc(n); use(p); free(p); }",
               "p = malloc(n); for (...) use(p); free(p);"),
        CHANGE("for (...) { std::vector<T> v(n); use(v); }",
               "std::vector<T> v; for (...) { v.assign(n, T()); use(v); }"),
        CHANGE("for .. { let mut v = Vec::with_capacity(n); fill(&mut v); }",
               "let mut v = Vec::with_capacity(n);" NEXT "for .. { v.clear(); fill(&mut v); }"),
        CHANGE("for x in items: buf = bytearray(n); fill(buf, x)",
               "buf = bytearray(n)" NEXT "for x in items: fill(buf, x)") } },
    { "drift",
      "Something grows: a list that is walked, a cache that fills, a heap that fragments.",
      { CHANGE("list_add(all, x);  /* and walked each time */", "index_add(all, x);"),
        CHANGE("all.push_back(x);  // and searched each time",
               "all.insert(x);  // std::unordered_set"),
        CHANGE("all.push(x);  // and searched each time", "all.insert(x);  // HashSet"),
        CHANGE("all.append(x)  # and searched each time", "all.add(x)  # a set") } },
    { "lock-wait",
      "Hold it shorter, split it, or give each thread its own and add up.",
      { CHANGE("lock(m); prepare(x); put(x); unlock(m);",
               "prepare(x); lock(m); put(x); unlock(m);"),
        CHANGE("std::lock_guard<std::mutex> hold(m); prepare(x); put(x);",
               "prepare(x);" NEXT "std::lock_guard<std::mutex> hold(m); put(x);"),
        CHANGE("let mut q = m.lock().unwrap(); prepare(&mut x); q.push(x);",
               "prepare(&mut x);" NEXT "m.lock().unwrap().push(x);"),
        CHANGE("with lock: prepare(x); put(x)", "prepare(x)" NEXT "with lock: put(x)") } },
};

static enum rt_language language_of(const char *file)
{
    static const struct {
        const char *suffix;
        enum rt_language language;
    } list[] = { { "cc", RT_CXX },  { "cpp", RT_CXX }, { "cxx", RT_CXX },
                 { "C", RT_CXX },   { "hpp", RT_CXX }, { "hh", RT_CXX },
                 { "hxx", RT_CXX }, { "rs", RT_RUST }, { "py", RT_PYTHON } };
    const char *dot = strrchr(file, '.');

    for (size_t i = 0; dot && i < sizeof list / sizeof list[0]; i++)
        if (!strcmp(dot + 1, list[i].suffix))
            return list[i].language;
    return RT_C;
}

const struct rt_rule_text *rt_rule_text(const char *rule)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!strcmp(texts[i].rule, rule))
            return &texts[i];
    return NULL;
}

const char *rt_rule_example(const struct rt_rule_text *t, const char *file)
{
    const char *own = t->example[language_of(file)];

    return own ? own : t->example[RT_C];
}

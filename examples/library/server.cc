// server.cc - worker threads handle requests: contexts, locks, labels, and a report that the
// program prints itself.
//
//     c++ -std=c++11 -O2 server.cc -lfathom -lpthread -o server && ./server
//
// SPDX-License-Identifier: Apache-2.0
#include <fathom.h>

#include <mutex>
#include <thread>
#include <vector>

static std::mutex table_mutex;
static struct fathom_lock table_lock = { "table", nullptr, nullptr, 0 };
static std::vector<int> table;

static int parse(int n)
{
    FATHOM_ZONE("parse");
    volatile int sum = 0;

    for (int i = 0; i < 20000; i++)
        sum = sum + i % (n + 1);
    return sum;
}

static void store(int value, const char *worker)
{
    fathom_zone wait = fathom_lock_wait(&table_lock);

    table_mutex.lock();
    fathom_lock_got(&table_lock, &wait);
    {
        FATHOM_OP_V(op, "store", sizeof value, "memory");
        fathom_op_label(&op, worker);
        table.push_back(value);
    }
    fathom_lock_release(&table_lock);
    table_mutex.unlock();
}

static void handle(int n, const char *worker)
{
    FATHOM_CONTEXT("request");
    FATHOM_ZONE("handle");
    store(parse(n), worker);
}

static void work(const char *name, const char *label)
{
    fathom_thread_name(name);
    for (int i = 0; i < 200; i++)
        handle(i, label);
}

int main()
{
    fathom_enable();
    std::thread one(work, "worker 0", "worker=\"0\""), two(work, "worker 1", "worker=\"1\"");
    one.join();
    two.join();
    fathom_report(stdout, FATHOM_TABLE, nullptr);
    return 0;
}

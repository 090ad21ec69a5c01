// What the checks of a program looked at when they last passed, as words of memory: as long as those are the same, what is
// left to run are the checks of what changes from call to call.
#pragma once
#include "machine.h"

namespace fj {

enum class Memo : uint8_t {
    NONE,   // run the program from its start
    MISS,   // a check failed: `stopped` is its instruction and `index` its place in the program
    REACHED // all checks hold, the registers are filled: go on at `stopped`
};

struct MemoResult {
    Memo how;
    const int32_t *stopped;
    int32_t index;
};

// Before a run from the start. Uses what is remembered, or remembers.
MemoResult memo_run(Run &m);
void memo_free(MemoData *memo);
int32_t memo_room(const MemoData *memo, int32_t nregs); // how many registers a run needs
size_t memo_words(const MemoData *memo);

// What memo.cpp needs of the loop.
const int32_t *loop(Run &m, const int32_t *at);
const int32_t *step(Run &m, const int32_t *at);

} // namespace fj

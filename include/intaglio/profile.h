// Where the time goes, as ig.profile tells it in Python: what runs while a Profile lives, by kernel and with
// the program's lines, as a table and as a timeline for trace viewers.
//
//   ig::Profile profile;
//   step(x);
//   profile.stop();
//   fmt::print("{}", profile.str());
#pragma once

#include "tensor/profile.h"

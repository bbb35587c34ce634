#pragma once

#include "bench/bench_table.h"

// The rows of the table, by what they work on. Each function measures the rows that the options want.
namespace edgefx::bench {

// 1 copy, 8 toOpBackend, 9 validate, 10 print, 11 destroy.
void addGraphRows(const Options& options, Table& table);
// 2 bytes a node.
void addMemoryRows(const Options& options, Table& table);
// 6 capability partitioner over regions, 6b over one chain, 12b growth exponents of both.
void addPartitionRows(const Options& options, Table& table);
// 3 load, 3c peak memory of a load, 5 save; synthetic programs, and for 3 the largest of the test corpus.
void addFileRows(const Options& options, Table& table);
// 4 load and 5b save with many weights.
void addWeightRows(const Options& options, Table& table);
// 7 toBackend with many partitions, 7b beside one, 12b its growth.
void addDelegationRows(const Options& options, Table& table);
// 12 time a node from 1k nodes on, beside that at 10k.
void addGrowthRows(const Options& options, Table& table);
// 14 running a program, beside the same dispatcher calls in a loop.
void addRunRows(const Options& options, Table& table);
// 15 a set of rules, beside a walk over nodes and operands.
void addRewriteRows(const Options& options, Table& table);

}  // namespace edgefx::bench

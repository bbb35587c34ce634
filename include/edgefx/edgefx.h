#pragma once

// Everything but what brings in tensors: include <edgefx/program/tensor_table.h> to touch weights.
// clang-format off: the order is that of reading.

#include <edgefx/backend/backend_details.h>
#include <edgefx/backend/backend_registry.h>
#include <edgefx/backend/lower_program.h>
#include <edgefx/backend/op_backend.h>
#include <edgefx/backend/plugin.h>
#include <edgefx/backend/to_backend.h>
#include <edgefx/ir/argument.h>
#include <edgefx/ir/dead_code.h>
#include <edgefx/ir/dtype.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/graph.h>
#include <edgefx/ir/graph_module.h>
#include <edgefx/ir/lint.h>
#include <edgefx/ir/meta.h>
#include <edgefx/ir/node.h>
#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>
#include <edgefx/ir/sym_expr.h>
#include <edgefx/ir/target.h>
#include <edgefx/manager/compile_config.h>
#include <edgefx/manager/constant_value.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/manager/etrecord.h>
#include <edgefx/partition/aoti_partitioner.h>
#include <edgefx/partition/capability_partitioner.h>
#include <edgefx/partition/control_flow.h>
#include <edgefx/partition/operator_support.h>
#include <edgefx/partition/partition_by_support.h>
#include <edgefx/partition/partitioner.h>
#include <edgefx/partition/tag_constants.h>
#include <edgefx/partition/tags.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/compare_programs.h>
#include <edgefx/program/delegated_text.h>
#include <edgefx/program/exported_program.h>
#include <edgefx/program/lowered_module.h>
#include <edgefx/program/signature.h>
#include <edgefx/serialization/exir.h>
#include <edgefx/serialization/payloads.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>
#include <edgefx/support/warning.h>
#include <edgefx/version.h>

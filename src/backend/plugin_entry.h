#pragma once

#include <edgefx/backend/plugin.h>

#include <string>

namespace edgefx::detail {

// Registers the backends of a plugin whose entry point returned `plugin`, all or none. Throws as loadPlugin.
void admitPlugin(const Plugin& plugin, const std::string& library, BackendRegistry& registry);

}  // namespace edgefx::detail

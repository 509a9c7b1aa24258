// settings.h: the emulator's environment variables, read at each use, so that a test can change them while it runs.
#pragma once
#include <string>

namespace emu {

std::string setting(const char* name, const char* otherwise);
unsigned long long number_setting(const char* name, unsigned long long otherwise);
// Returns a device's number from a list of one for each device, the last of which is that of all further ones.
unsigned long long device_setting(const char* name, int device, unsigned long long otherwise);
bool flag_setting(const char* name);  // whether it is set, and neither empty nor 0

// With EMU_LOG, prints a line to standard error.
void log_line(const std::string& line);

}  // namespace emu

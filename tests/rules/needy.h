// SPDX-License-Identifier: Apache-2.0
// A header that does not compile alone, for the test that says so: it never includes <string>.
#pragma once

std::string needy();

#include "crypto/ipsec_mb_version.hpp"

#include <intel-ipsec-mb.h>

namespace millrace::crypto {

std::string_view ipsec_mb_version() noexcept { return imb_get_version_str(); }

}  // namespace millrace::crypto

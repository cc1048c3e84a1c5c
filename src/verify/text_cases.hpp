// Verification of text handling: tokenizers and chat templates of an oracle folder.
#pragma once

#include <filesystem>
#include <string>

#include "moe/result.hpp"
#include "verify/case_result.hpp"

namespace moe::verify {

// `<kind>.json` (tokenizer.json) with `<kind>.cases.json`: ids with and without special tokens and
// decoded texts must be equal, and so must the text of a streamed decode. One case a kind.
Status verify_tokenizers(const std::filesystem::path& dir, const std::string& filter,
                         const CaseSink& sink);

// `cases.json` with the templates it names: renderings must be equal, or fail where an error is
// expected. One case a template.
Status verify_templates(const std::filesystem::path& dir, const std::string& filter,
                        const CaseSink& sink);

}  // namespace moe::verify

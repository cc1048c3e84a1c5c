#include "model/catalogue.hpp"

#include <fstream>
#include <set>

#include "model/test_config.hpp"

namespace moe::model {
namespace {

// The cells of each table row whose first cell is an architecture in backquotes.
std::vector<std::vector<std::string>> architecture_rows(const std::string& file) {
  std::ifstream stream(std::string(MOE_SOURCE_DIR) + "/" + file);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("| `", 0) != 0) continue;
    std::vector<std::string> cells;
    for (size_t begin = 2; begin < line.size();) {
      const size_t end = line.find(" |", begin);
      if (end == std::string::npos) break;
      cells.push_back(line.substr(begin, end - begin));
      begin = end + 3;
    }
    if (cells.empty() || cells[0].find("ForCausalLM") == std::string::npos) continue;
    cells[0] = cells[0].substr(1, cells[0].find('`', 1) - 1);
    rows.push_back(cells);
  }
  return rows;
}

TEST(Catalogue, ModelsPageHasItsRowsInItsOrder) {
  std::vector<std::pair<std::string, std::string>> written;
  for (const auto& cells : architecture_rows("docs/models.md")) {
    ASSERT_GE(cells.size(), 3u) << cells[0];
    written.emplace_back(cells[0], cells[1]);
  }
  std::vector<std::pair<std::string, std::string>> known;
  for (const Architecture& architecture : catalogue()) {
    known.emplace_back(architecture.name, architecture.family);
  }
  EXPECT_EQ(written, known);
}

TEST(Catalogue, ReadmeNamesTheSameArchitectures) {
  std::vector<std::string> written;
  for (const auto& cells : architecture_rows("README.md")) written.push_back(cells[0]);
  std::vector<std::string> known;
  for (const Architecture& architecture : catalogue()) known.emplace_back(architecture.name);
  EXPECT_EQ(written, known);
}

TEST(Catalogue, AnUnknownArchitectureIsRefusedWithTheKnownNames) {
  const auto found = find_architecture("NoSuchForCausalLM");
  test::expect_error(found, ErrorCode::kUnsupported, "NoSuchForCausalLM is not supported");
  for (const Architecture& architecture : catalogue()) {
    EXPECT_THAT(found.error().fix, ::testing::HasSubstr(std::string(architecture.name)));
  }
}

}  // namespace
}  // namespace moe::model

#include "text/tokenizer/tokenizer_json.hpp"

#include <fmt/format.h>

#include <string>
#include <unordered_set>

#include "base/errors.hpp"

namespace moe::text {
namespace {

constexpr std::string_view kFix = "restore tokenizer.json from the model's source";

// Events of nlohmann's parser: those of the two tables are consumed here, the others build a tree.
class Reader : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  using Base = nlohmann::detail::json_sax_dom_parser<Json>;

  Reader(TokenizerJson& result) : Base(result.tree, false), result_(result) {}

  bool null() { return inside_ != Inside::kTree ? wrong_value("null") : Base::null(); }
  bool boolean(bool value) {
    return inside_ != Inside::kTree ? wrong_value(value ? "true" : "false") : Base::boolean(value);
  }
  bool number_integer(int64_t value) {
    if (inside_ != Inside::kTree) return wrong_value(fmt::to_string(value));
    return Base::number_integer(value);
  }
  bool number_unsigned(uint64_t value) {
    if (inside_ == Inside::kVocab) return vocab_entry(value);
    if (inside_ == Inside::kTree) return Base::number_unsigned(value);
    return wrong_value(fmt::to_string(value));
  }
  bool number_float(double value, const std::string& text) {
    if (inside_ != Inside::kTree) return wrong_value(text);
    return Base::number_float(value, text);
  }
  bool string(std::string& value) {
    switch (inside_) {
      case Inside::kVocab:
        return wrong_value(fmt::format("\"{}\"", value));
      case Inside::kMerges:
        return merge_text(value);
      case Inside::kPair:
        pair_.push_back(std::move(value));
        return true;
      case Inside::kTree:
        break;
    }
    return Base::string(value);
  }
  bool start_object(size_t size);
  bool end_object();
  bool start_array(size_t size);
  bool end_array();
  bool key(std::string& name);
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) {
    return fail(fmt::format("syntax error at byte {}: {}", position, error.what()));
  }

  const std::string& failure() const { return failure_; }

 private:
  enum class Inside { kTree, kVocab, kMerges, kPair };

  bool fail(std::string what) {
    if (failure_.empty()) failure_ = std::move(what);
    return false;
  }
  bool enter() {
    if (++depth_ <= kMaxTokenizerDepth) return true;
    return fail(fmt::format("nesting is deeper than {}", kMaxTokenizerDepth));
  }
  bool at_model_member(std::string_view name) const {
    return depth_ == 2 && keys_.size() == 2 && top_key_ == "model" && model_key_ == name;
  }
  bool wrong_value(std::string_view got) {
    if (inside_ == Inside::kVocab) {
      return fail(fmt::format("model.vocab[\"{}\"]: got {}, wanted an id from 0 to {}", token_, got,
                              kMaxTokenId));
    }
    return fail(
        fmt::format("model.merges[{}]: got {}, wanted \"left right\" or [\"left\", \"right\"]",
                    merge_index_, got));
  }
  bool vocab_entry(uint64_t id);
  bool merge_text(const std::string& text);

  TokenizerJson& result_;
  Inside inside_ = Inside::kTree;
  int depth_ = 0;
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects of the tree that are open
  std::string top_key_;                                // the last key of the outermost object
  std::string model_key_;                              // the last key of an object within it
  std::string token_;                                  // the last key of model.vocab
  size_t merge_index_ = 0;
  std::vector<std::string> pair_;
  std::string failure_;
};

bool Reader::start_object(size_t size) {
  if (inside_ != Inside::kTree) return wrong_value("an object");
  const bool is_vocab = at_model_member("vocab");
  if (!enter() || !Base::start_object(size)) return false;
  if (is_vocab) {
    inside_ = Inside::kVocab;
    result_.has_vocab = true;
  } else {
    keys_.emplace_back();
  }
  return true;
}

bool Reader::end_object() {
  --depth_;
  if (inside_ == Inside::kVocab) {
    inside_ = Inside::kTree;
  } else {
    keys_.pop_back();
  }
  return Base::end_object();
}

bool Reader::start_array(size_t size) {
  if (inside_ == Inside::kMerges) {
    inside_ = Inside::kPair;
    pair_.clear();
    return enter();
  }
  if (inside_ != Inside::kTree) return wrong_value("an array");
  const bool is_merges = at_model_member("merges");
  if (!enter() || !Base::start_array(size)) return false;
  if (is_merges) {
    inside_ = Inside::kMerges;
    result_.has_merges = true;
  }
  return true;
}

bool Reader::end_array() {
  --depth_;
  if (inside_ == Inside::kPair) {
    inside_ = Inside::kMerges;
    if (pair_.size() != 2) return wrong_value(fmt::format("{} texts", pair_.size()));
    result_.tables.merges.emplace_back(std::move(pair_[0]), std::move(pair_[1]));
    ++merge_index_;
    return true;
  }
  inside_ = Inside::kTree;
  return Base::end_array();
}

bool Reader::key(std::string& name) {
  if (inside_ == Inside::kVocab) {
    token_ = std::move(name);
    return true;
  }
  if (keys_.size() == 1) top_key_ = name;
  if (keys_.size() == 2) model_key_ = name;
  if (!keys_.back().insert(name).second) return fail(fmt::format("duplicate key \"{}\"", name));
  if (keys_.back().size() > kMaxObjectMembers) {
    return fail(fmt::format("an object has more than {} members", kMaxObjectMembers));
  }
  return Base::key(name);
}

bool Reader::vocab_entry(uint64_t id) {
  if (id > static_cast<uint64_t>(kMaxTokenId)) return wrong_value(fmt::to_string(id));
  switch (result_.tables.vocab.add(token_, static_cast<int32_t>(id))) {
    case Vocab::Added::kYes:
      return true;
    case Vocab::Added::kDuplicateText:
      return fail(fmt::format("model.vocab: duplicate key \"{}\"", token_));
    case Vocab::Added::kDuplicateId:
      break;
  }
  return fail(
      fmt::format("model.vocab[\"{}\"]: got id {}, which is that of \"{}\", wanted an id of "
                  "its own",
                  token_, id, *result_.tables.vocab.text_of(static_cast<int32_t>(id))));
}

bool Reader::merge_text(const std::string& text) {
  constexpr std::string_view kVersionLine = "#version";
  if (text.starts_with(kVersionLine)) return true;
  const size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
    return wrong_value(fmt::format("\"{}\"", text));
  }
  result_.tables.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
  ++merge_index_;
  return true;
}

}  // namespace

Result<TokenizerJson> parse_tokenizer_json(std::string_view text, std::string_view source) {
  if (text.size() > kMaxTokenizerBytes) {
    return corrupt(
        fmt::format("{}: got {} bytes, wanted at most {}", source, text.size(), kMaxTokenizerBytes),
        std::string(kFix));
  }
  TokenizerJson result;
  Reader reader(result);
  if (!Json::sax_parse(text.data(), text.data() + text.size(), &reader)) {
    return corrupt(fmt::format("{}: {}", source, reader.failure()), std::string(kFix));
  }
  return result;
}

}  // namespace moe::text

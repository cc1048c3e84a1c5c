// Asks a model one question and streams its answer: the C++ API.
// usage: generate_cpp MODEL "question"
#include <cstdio>

#include "moe/moe.hpp"

namespace {

int fail(const moe::Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return moe::exit_status_of(error.code);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s MODEL \"question\"\n", argv[0]);
    return 2;
  }
  moe::Result<moe::Model> model = moe::Model::load(argv[1]);
  if (!model.ok()) return fail(model.error());

  const moe::ChatMessage question{"user", argv[2]};
  moe::Result<std::vector<int32_t>> prompt = model->chat_prompt({&question, 1});
  if (!prompt.ok()) return fail(prompt.error());

  moe::Request request;
  request.prompt = std::move(*prompt);
  request.sampling = model->default_sampling();
  request.on_piece = [](const moe::Piece& piece) {
    std::fwrite(piece.text.data(), 1, piece.text.size(), stdout);
    std::fflush(stdout);
    return true;
  };
  const moe::Result<moe::Completion> answer = model->generate(std::move(request));
  if (!answer.ok()) return fail(answer.error());
  std::printf("\n");
  std::fprintf(stderr, "%zu tokens, ended by %s\n", answer->tokens.size(),
               answer->finish_reason.c_str());
  return 0;
}

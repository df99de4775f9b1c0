// Content that was loaded once, sent from where it lies.
#include "h3/pair.hpp"

#include "support/eal_main.hpp"

namespace millrace::test {
namespace {

TEST(h3_content, any_range_is_sent_from_where_it_lies_with_loss) {
  auto pool = buf::large_block_pool::make({.name = "h3_content"});
  ASSERT_TRUE(pool);
  const std::string whole = pulled_text(300'000);
  auto content = buf::content::load(pool.value(), base::as_bytes(whole));
  ASSERT_TRUE(content);
  const std::uint32_t held = pool.value().in_use();
  h3_pair p;
  p.handler.content = &content.value();
  p.net.down.loss = 0.02;
  for (const std::size_t size : {1u, 999u, 65'000u, 65'536u, 131'073u, 299'997u}) {
    scripted& x = p.ask(head(get("/file/" + std::to_string(size))));
    ASSERT_TRUE(x.over) << size;
    const read_message m(x.got);
    EXPECT_EQ(m.heads[0]["content-length"], std::to_string(size));
    EXPECT_EQ(m.data_frames.size(), 1u) << "one frame, whatever its size";
    EXPECT_EQ(m.body == whole.substr(3, size), true) << size;
  }
  EXPECT_EQ(pool.value().in_use(), held);
  EXPECT_TRUE(p.rests());
}

}  // namespace
}  // namespace millrace::test

MILLRACE_EAL_TEST_MAIN("-m", "256")

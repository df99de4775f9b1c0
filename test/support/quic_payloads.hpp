// test/support/quic_payloads.hpp - payloads of packets in clear, as hex, with what note_taker says of them.
#pragma once

#include "support/bytes.hpp"

namespace millrace::test {

// Every frame that a server may send in a 1-RTT packet, each in its shortest form.
inline byte_list every_frame() {
  return from_hex(
      "01"                                    // PING
      "02 4064 0a 01 05 02 03"                // ACK
      "03 05 00 00 02 01 4100 03"             // ACK with ECN counts
      "04 08 4101 80010000"                   // RESET_STREAM
      "05 07 4102"                            // STOP_SENDING
      "06 4064 03 aabbcc"                     // CRYPTO
      "07 04 70717273"                        // NEW_TOKEN
      "0a 04 05 6c656e6774"                   // STREAM with a length
      "0e 04 05 02 6861"                      // with an offset too
      "0f 08 4400 03 656e64"                  // and a FIN
      "0b 0c 00"                              // an empty one that ends
      "000000"                                // PADDING
      "10 80100000 11 04 7fff 12 4064 13 03"  // MAX_DATA, MAX_STREAM_DATA, MAX_STREAMS
      "14 80100000 15 04 7fff 16 4064 17 03"  // DATA_BLOCKED, STREAM_DATA_BLOCKED, STREAMS_BLOCKED
      "18 05 02 08 c1c2c3c4c5c6c7c8 000102030405060708090a0b0c0d0e0f"
      "19 01 1a 0102030405060708 1b 1112131415161718"  // RETIRE_CONNECTION_ID, PATH_CHALLENGE, PATH_RESPONSE
      "1c 0a 18 02 6f6b 1d 4100 00"                    // CONNECTION_CLOSE of both kinds
      "1e"                                             // HANDSHAKE_DONE
      "31 03 646773 31 00"                             // DATAGRAM
      "0c 10 07 74 6f 20 74 68 65 20 65 6e 64");       // STREAM without a length
}

inline const char* const notes_of_every_frame =
    "ping, ack after 10 95-100 88-91, ack after 0 3-5 ecn 1 256 3, reset_stream 8 257 65536, stop_sending 7 258, "
    "crypto 100:aabbcc, new_token 70717273, stream 4 0:6c656e67746861, stream 8 1024:656e64 fin, stream 12 0: fin, "
    "padding 3, max_data 1048576, max_stream_data 4 16383, max_streams bidi 100, max_streams uni 3, "
    "data_blocked 1048576, stream_data_blocked 4 16383, streams_blocked bidi 100, streams_blocked uni 3, "
    "new_connection_id 5 2 c1c2c3c4c5c6c7c8 000102030405060708090a0b0c0d0e0f, retire_connection_id 1, "
    "path_challenge 0102030405060708, path_response 1112131415161718, close 10 for 24 \"6f6b\", close app 256 \"\", "
    "handshake_done, datagram 0 0:646773, datagram 1 0:, stream 16 7:746f2074686520656e64";

}  // namespace millrace::test

#pragma once

#include <cstdint>

namespace edgefx::detail {

// The opcodes that the reader accepts.
enum class PickleOp : uint8_t {
  Mark = '(',
  EmptyTuple = ')',
  Stop = '.',
  BinFloat = 'G',
  BinInt = 'J',
  BinInt1 = 'K',
  BinInt2 = 'M',
  None = 'N',
  BinPersId = 'Q',
  Reduce = 'R',
  BinUnicode = 'X',
  EmptyList = ']',
  Append = 'a',
  Build = 'b',
  Global = 'c',
  Appends = 'e',
  BinGet = 'h',
  LongBinGet = 'j',
  BinPut = 'q',
  LongBinPut = 'r',
  SetItem = 's',
  Tuple = 't',
  SetItems = 'u',
  EmptyDict = '}',
  Proto = 0x80,
  NewObj = 0x81,
  Tuple1 = 0x85,
  Tuple2 = 0x86,
  Tuple3 = 0x87,
  NewTrue = 0x88,
  NewFalse = 0x89,
  Long1 = 0x8a,
  ShortBinUnicode = 0x8c,
  StackGlobal = 0x93,
  Memoize = 0x94,
  Frame = 0x95,
};

}  // namespace edgefx::detail

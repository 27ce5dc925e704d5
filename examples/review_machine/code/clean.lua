-- Adds up a list of numbers.
return function(list)
  local sum = 0
  for _, value in ipairs(list) do
    sum = sum + value
  end
  return sum
end
